// The bodies of messages: the part of a frame behind its header. Used by frame.cc only.
#pragma once

#include "hairpin/base/bytes.h"
#include "hairpin/base/result.h"
#include "hairpin/wire/frame.h"
#include "hairpin/wire/message.h"

namespace hairpin::wire {

// A body is its head and, of tensors and weights, the payload behind it, which can be long. Appends
// the head to `out`.
void encode_body_head(const Message& message, Bytes& out);
// The message's own bytes; empty where there is none.
ByteSpan payload_of(const Message& message);

// Nothing but the body may be in `body`. Errors (ErrorKind::peer) say what is malformed.
Result<Message> parse_body(MessageType type, ByteSpan body);

}  // namespace hairpin::wire

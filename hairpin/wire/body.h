// The bodies of messages: the part of a frame behind its header. Used by frame.cc only.
#pragma once

#include "hairpin/base/bytes.h"
#include "hairpin/base/result.h"
#include "hairpin/wire/frame.h"
#include "hairpin/wire/message.h"

namespace hairpin::wire {

// Appends the body to `out`.
void encode_body(const Message& message, Bytes& out);

// Nothing but the body may be in `body`. Errors (ErrorKind::peer) say what is malformed.
Result<Message> parse_body(MessageType type, ByteSpan body);

}  // namespace hairpin::wire

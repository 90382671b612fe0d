// From a message to the frame that leaves: what all twins do before a transport sees it.
#pragma once

#include <optional>

#include "hairpin/link/endpoint.h"
#include "hairpin/wire/frame.h"

namespace hairpin::link {

// Encodes and shows the frame to `observer`; the frame's payload is that of `outgoing.message`.
// Empty when the message is malformed or the observer threw: the endpoint is then refused with the
// reason and the frame must not be sent.
std::optional<wire::FrameParts> frame_to_send(Endpoint& endpoint,
                                              const Endpoint::Outgoing& outgoing,
                                              std::uint64_t sequence, const SentObserver& observer);

// Whether nothing may follow this message.
bool is_last_word(const wire::Message& message);

}  // namespace hairpin::link

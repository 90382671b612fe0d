#include "hairpin/link/outgoing.h"

#include <exception>

namespace hairpin::link {

std::optional<wire::FrameParts> frame_to_send(Endpoint& endpoint,
                                              const Endpoint::Outgoing& outgoing,
                                              std::uint64_t sequence,
                                              const SentObserver& observer) {
  try {
    auto frame = wire::encode_parts(outgoing.message, sequence);
    if (observer) observer(outgoing.message, frame.size());
    return frame;
  } catch (const std::exception& error) {
    endpoint.not_written(outgoing);
    endpoint.refuse({ErrorKind::internal, error.what()});
    return std::nullopt;
  }
}

bool is_last_word(const wire::Message& message) {
  return std::holds_alternative<wire::Goodbye>(message) ||
         std::holds_alternative<wire::Refusal>(message);
}

}  // namespace hairpin::link

#include "hairpin/link/outgoing.h"

#include <exception>

#include "hairpin/wire/frame.h"

namespace hairpin::link {

std::optional<Bytes> frame_to_send(Endpoint& endpoint, const wire::Message& message,
                                   std::uint64_t sequence, const SentObserver& observer) {
  try {
    auto frame = wire::encode(message, sequence);
    if (observer) observer(message, frame.size());
    return frame;
  } catch (const std::exception& error) {
    endpoint.not_written();
    endpoint.refuse({ErrorKind::internal, error.what()});
    return std::nullopt;
  }
}

bool is_last_word(const wire::Message& message) {
  return std::holds_alternative<wire::Goodbye>(message) ||
         std::holds_alternative<wire::Refusal>(message);
}

}  // namespace hairpin::link

#include "hairpin/link/handshake.h"

#include "hairpin/link/peer_text.h"

namespace hairpin::link {
namespace {

template <class Expected>
Result<Expected> receive_only(Link& link) {
  HAIRPIN_TRY(auto message, link.receive());
  if (auto* expected = std::get_if<Expected>(&message)) return std::move(*expected);
  return fail(ErrorKind::peer,
              "the peer sent a {} message where a {} was due; install the same release of Hairpin "
              "on both sites",
              wire::message_name(message), wire::message_name(Expected{}));
}

Result<void> check_hello(const wire::Hello& hello, wire::Role own) {
  if (hello.protocol_version != wire::kProtocolVersion)
    return fail(ErrorKind::peer,
                "the peer ({}) speaks protocol version {} and this site version {}; install the "
                "same release of Hairpin on both sites",
                peer_text(hello.software, 100), hello.protocol_version, wire::kProtocolVersion);
  if (hello.role == own)
    return fail(ErrorKind::peer, "both sites say that they are the {}; start one of each",
                wire::role_name(own));
  return {};
}

Result<void> exchange(Link& link, wire::Role own, const Contract& contract,
                      std::string_view software) {
  // Flushed, so that a refusal cannot overtake them: the peer shall see for itself what differs. A
  // link that failed meanwhile says so in receive(), behind what the peer had sent before.
  (void)link.send(wire::Hello{.role = own, .software = std::string(software)});
  (void)link.send(wire::ContractOffer{contract.fields});
  (void)link.flush();
  const auto hello = receive_only<wire::Hello>(link);
  if (!hello && hello.error().kind == ErrorKind::link_lost)
    return fail(ErrorKind::link_lost,
                "{}, before it had said a word; compare link.address and link.insecure_loopback on "
                "both sites",
                hello.error().message);
  if (!hello) return tl::unexpected<Error>(hello.error());
  HAIRPIN_CHECK_OK(check_hello(*hello, own));
  HAIRPIN_TRY(auto offer, receive_only<wire::ContractOffer>(link));
  return compare_contracts(contract, {std::move(offer.fields)}, own);
}

}  // namespace

Result<void> handshake(Link& link, wire::Role own, const Contract& contract,
                       std::string_view software) {
  auto agreed = exchange(link, own, contract, software);
  if (!agreed) link.fail(agreed.error());
  return agreed;
}

}  // namespace hairpin::link

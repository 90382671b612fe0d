#include "hairpin/link/contract.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "hairpin/link/peer_text.h"
#include "hairpin/wire/frame.h"

namespace hairpin::link {
namespace {

constexpr std::size_t kShownBytes = 200;  // of a peer's value

const std::string* find(const Contract& contract, const std::string& field) {
  const auto found =
      std::ranges::find(contract.fields, field, &std::pair<std::string, std::string>::first);
  return found == contract.fields.end() ? nullptr : &found->second;
}

std::string shown(const std::string* value) {
  return value == nullptr ? "missing" : fmt::format("\"{}\"", peer_text(*value, kShownBytes));
}

std::string difference(const std::string& field, const std::string* at_edge,
                       const std::string* at_cloud) {
  return fmt::format("{} is {} at the edge and {} at the cloud", peer_text(field, kShownBytes),
                     shown(at_edge), shown(at_cloud));
}

}  // namespace

Digest Contract::digest() const {
  const auto frame = wire::encode(wire::ContractOffer{fields}, 0);
  return sha256(ByteSpan(frame).subspan(wire::kHeaderBytes));
}

Result<void> compare_contracts(const Contract& own, const Contract& peers, wire::Role own_role) {
  if (own.digest() == peers.digest()) return {};
  const auto& edge = own_role == wire::Role::edge ? own : peers;
  const auto& cloud = own_role == wire::Role::edge ? peers : own;
  std::vector<std::string> differences;
  for (const auto& [field, value] : edge.fields)
    if (const auto* other = find(cloud, field); other == nullptr || *other != value)
      differences.push_back(difference(field, &value, other));
  for (const auto& [field, value] : cloud.fields)
    if (find(edge, field) == nullptr) differences.push_back(difference(field, nullptr, &value));
  if (differences.empty())
    return fail(ErrorKind::peer,
                "the two sites' contracts have the same fields in another order or twice; install "
                "the same release of Hairpin on both sites");
  return fail(ErrorKind::peer,
              "the two sites' jobs differ: {}; make them agree and start both again",
              fmt::join(differences, "; "));
}

}  // namespace hairpin::link

#include "hairpin/schedule/fingerprint.h"

#include "hairpin/base/hash.h"
#include "hairpin/schedule/notation.h"

namespace hairpin::schedule {

std::uint64_t fingerprint(const Schedule& schedule) {
  const auto digest = sha256(as_byte_span(ops_json(schedule.ranks, Notation(schedule))));
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof number; ++i)
    number |= std::to_integer<std::uint64_t>(digest[i]) << (8 * i);
  return number;
}

}  // namespace hairpin::schedule

#include "hairpin/base/random.h"

#include "hairpin/base/bytes.h"
#include "hairpin/base/hash.h"

namespace hairpin {

std::uint64_t derive_seed(std::uint64_t seed, std::string_view purpose, std::uint64_t index) {
  Bytes key;
  ByteWriter writer(key);
  writer.number(seed);
  writer.text(purpose);
  writer.number(index);
  return xxh3(key);
}

std::uint64_t Random::below(std::uint64_t bound) {
  const std::uint64_t rejected = -bound % bound;  // 2^64 mod bound
  for (;;)
    if (const std::uint64_t draw = next(); draw >= rejected) return draw % bound;
}

}  // namespace hairpin

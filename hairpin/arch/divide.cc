#include "hairpin/arch/divide.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace hairpin::arch {
namespace {

// What stands in the way, as words; empty: nothing.
std::vector<std::string> obstacles(const Architecture& a, std::int64_t ranks) {
  std::vector<std::string> all;
  if (a.num_attention_heads % ranks != 0)
    all.push_back(fmt::format("{} attention heads", a.num_attention_heads));
  if (a.num_key_value_heads % ranks != 0 && ranks % a.num_key_value_heads != 0)
    all.push_back(fmt::format("{} key/value heads", a.num_key_value_heads));
  if (a.intermediate_size % ranks != 0)
    all.push_back(fmt::format("an intermediate size of {}", a.intermediate_size));
  if (a.vocab_size < ranks) all.push_back(fmt::format("a vocabulary of {}", a.vocab_size));
  return all;
}

std::string advice(const Architecture& a, std::int64_t ranks) {
  auto below = ranks - 1, above = ranks + 1;
  while (!obstacles(a, below).empty()) --below;  // one rank always fits
  while (above <= a.num_attention_heads && !obstacles(a, above).empty()) ++above;
  return above <= a.num_attention_heads ? fmt::format("{} or {}", below, above)
                                        : fmt::format("{}", below);
}

}  // namespace

Result<void> check_tensor_parallel(const Architecture& a, std::int64_t ranks,
                                   std::string_view key) {
  const auto found = obstacles(a, ranks);
  if (found.empty()) return {};
  return bad_input("{} = {}: the model has {}, which {} ranks can't share out; give {}", key, ranks,
                   fmt::join(found, " and "), ranks, advice(a, ranks));
}

std::int64_t key_value_heads_of_rank(const Architecture& a, std::int64_t ranks) {
  return std::max<std::int64_t>(a.num_key_value_heads / ranks, 1);
}

std::int64_t key_value_copies(const Architecture& a, std::int64_t ranks) {
  return std::max<std::int64_t>(ranks / a.num_key_value_heads, 1);
}

}  // namespace hairpin::arch

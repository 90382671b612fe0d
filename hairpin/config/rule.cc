#include "hairpin/config/rule.h"

#include <algorithm>

#include "hairpin/base/nearest.h"
#include "hairpin/config/address.h"

namespace hairpin::config {
namespace {

constexpr std::int64_t kMaxLayers = 100'000;  // of one stage; keeps every sum far from overflow
constexpr std::size_t kMaxStages = 1'024;

// "a", "b" or "c"
std::string listed(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto* separator = i == 0 ? "" : i + 1 == words.size() ? " or " : ", ";
    out += fmt::format("{}\"{}\"", separator, words[i]);
  }
  return out;
}

}  // namespace

Rule<std::string> one_of(std::vector<std::string> choices, std::vector<std::string> not_built) {
  const auto words = listed(choices);
  const auto check = [choices = std::move(choices), not_built = std::move(not_built),
                      words](const std::string& value) -> Complaint {
    const auto is_value = [&](const std::string& word) { return word == value; };
    if (std::any_of(choices.begin(), choices.end(), is_value)) return {};
    if (std::any_of(not_built.begin(), not_built.end(), is_value))
      return fmt::format("not built yet; use {}", words);
    if (const auto nearest = nearest_word(value, choices))
      return fmt::format("unknown; did you mean \"{}\"? It takes {}", *nearest, words);
    return fmt::format("unknown; use {}", words);
  };
  return {words, check};
}

Rule<std::string> an_address() {
  return {"host:port", [](const std::string& text) -> Complaint {
            const auto address = parse_address(text);
            return address ? Complaint{} : Complaint{address.error().message};
          }};
}

Rule<std::vector<std::int64_t>> counts() {
  return {"at least three, each 0 or greater",
          [](const std::vector<std::int64_t>& list) -> Complaint {
            if (list.size() < 3)
              return "needs an edge head, at least one cloud stage and an edge tail; give three or "
                     "more counts";
            if (list.size() > kMaxStages)
              return fmt::format("has {} stages; give at most {}", list.size(), kMaxStages);
            for (const auto count : list)
              if (count < 0 || count > kMaxLayers)
                return fmt::format("{} is not a number of layers; give counts from 0 to {}", count,
                                   kMaxLayers);
            return {};
          }};
}

}  // namespace hairpin::config

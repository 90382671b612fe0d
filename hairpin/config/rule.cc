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

Complaint check_layers(const std::vector<std::int64_t>& list) {
  if (list.size() > kMaxStages)
    return fmt::format("has {} stages; give at most {}", list.size(), kMaxStages);
  for (const auto count : list)
    if (count < 0 || count > kMaxLayers)
      return fmt::format("{} is not a number of layers; give counts from 0 to {}", count,
                         kMaxLayers);
  return {};
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

Rule<std::vector<std::int64_t>> split_layers() {
  return {"at least three, each 0 or greater", [](const std::vector<std::int64_t>& list) {
            if (list.size() < 3)
              return Complaint(
                  "needs an edge head, at least one cloud stage and an edge tail; give three or "
                  "more counts");
            return check_layers(list);
          }};
}

Rule<std::vector<std::int64_t>> pipeline_layers() {
  return {"at least one, each 0 or greater", [](const std::vector<std::int64_t>& list) {
            if (list.empty()) return Complaint("has no stage; give a count for each pipeline rank");
            return check_layers(list);
          }};
}

Rule<std::int64_t> zero_stage() {
  return {"0 or 1", [](std::int64_t stage) -> Complaint {
            if (stage == 2 || stage == 3) return "not built yet; use 0 or 1";
            if (stage < 0 || stage > 1) return "out of range; give 0 or 1";
            return {};
          }};
}

}  // namespace hairpin::config

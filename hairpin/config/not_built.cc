#include "hairpin/config/not_built.h"

namespace hairpin::config {
namespace {

std::vector<NotBuilt> list() {
  const Value one = std::int64_t{1}, no = false;
  std::vector<NotBuilt> all = {
      {"adapt", "", {}},
      {"split", "vision_layers", {}},
      {"data", "eval", {}},
      {"data", "form", Value(std::string("messages"))},
  };
  for (const char* site : {"edge", "cloud", "site"}) {
    all.push_back({site, "context_parallel", one});
    all.push_back({site, "expert_parallel", one});
    all.push_back({site, "recompute", Value(std::string("none"))});
    all.push_back({site, "release_memory", Value(std::string("never"))});
  }
  return all;
}

}  // namespace

const std::vector<NotBuilt>& not_built() {
  static const auto all = list();
  return all;
}

const NotBuilt* find_not_built(std::string_view table, std::string_view key) {
  for (const auto& entry : not_built())
    if (entry.table == table && (entry.key.empty() || entry.key == key)) return &entry;
  return nullptr;
}

}  // namespace hairpin::config

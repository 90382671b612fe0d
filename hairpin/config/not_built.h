// Keys of the plan whose feature isn't built yet: refused by name, but for a value that asks for
// nothing. When a feature comes, its line here becomes one in fields.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hairpin/config/document.h"

namespace hairpin::config {

struct NotBuilt {
  std::string table;
  std::string key;               // empty: the whole table
  std::optional<Value> neutral;  // the value that is accepted and means nothing
};

const std::vector<NotBuilt>& not_built();

// Null: no such key. A table that is not built has all keys.
const NotBuilt* find_not_built(std::string_view table, std::string_view key);

}  // namespace hairpin::config

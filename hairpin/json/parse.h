// JSON that comes from outside (weights headers, indices, config.json), parsed strictly.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

#include "hairpin/base/result.h"

namespace hairpin::json {

// The document in `text`. Refused, beside what isn't JSON: a key twice in one object (parsers
// disagree on which one counts), and nesting deeper than `max_depth`. `where` is the file's name
// for the message, which also names the byte or the key.
Result<nlohmann::json> parse(std::string_view text, std::string_view where, int max_depth = 32);

// The value as JSON for an error message: at most some 60 characters, the rest as "...".
std::string brief(const nlohmann::json& value);

}  // namespace hairpin::json

// A key's value as TOML knows it, and back to TOML's text.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace hairpin::config {

// A value of a form that no key takes (a date, an inline table, a list of strings, ...).
struct OtherForm {
  std::string name;  // "a date"
  bool operator==(const OtherForm&) const = default;
};
using Integers = std::vector<std::int64_t>;
using Value = std::variant<bool, std::int64_t, double, std::string, Integers, OtherForm>;

// "a whole number", "a string", ...
std::string form_name(const Value& value);

// TOML source that reads back as the same value, floats in their shortest exact form. An OtherForm
// has no source: its name.
std::string to_toml(const Value& value);

}  // namespace hairpin::config

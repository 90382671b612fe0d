#include "hairpin/config/value.h"

#include <fmt/core.h>

#include <string_view>

namespace hairpin::config {
namespace {

std::string string_source(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04X}", static_cast<int>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string float_source(double value) {
  auto text = fmt::format("{}", value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;  // "inf" and "nan" are TOML's spellings too
}

}  // namespace

std::string form_name(const Value& value) {
  static constexpr const char* kNames[] = {"true or false", "a whole number", "a number",
                                           "a string", "a list of whole numbers"};
  if (const auto* other = std::get_if<OtherForm>(&value)) return other->name;
  return kNames[value.index()];
}

std::string to_toml(const Value& value) {
  struct Source {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(double v) const { return float_source(v); }
    std::string operator()(const std::string& v) const { return string_source(v); }
    std::string operator()(const Integers& v) const {
      std::string out = "[";
      for (const auto integer : v) out += fmt::format("{}{}", out.size() > 1 ? ", " : "", integer);
      return out + "]";
    }
    std::string operator()(const OtherForm& v) const { return v.name; }
  };
  return std::visit(Source{}, value);
}

}  // namespace hairpin::config

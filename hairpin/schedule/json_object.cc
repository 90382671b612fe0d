#include "hairpin/schedule/json_object.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "hairpin/json/parse.h"

namespace hairpin::schedule {
namespace {

std::optional<std::int64_t> whole_in(const nlohmann::json& value, std::int64_t least,
                                     std::int64_t most) {
  if (!value.is_number_integer()) return std::nullopt;
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()})
    return std::nullopt;
  const auto number = value.get<std::int64_t>();
  return number >= least && number <= most ? std::optional(number) : std::nullopt;
}

}  // namespace

Result<JsonObject> JsonObject::of(const nlohmann::json& value, std::string where) {
  if (!value.is_object())
    return bad_input("{}: {} is not an object; the file is damaged or of another kind", where,
                     hairpin::json::brief(value));
  return JsonObject(value, std::move(where));
}

tl::unexpected<Error> JsonObject::wrong(const char* key, std::string_view want) const {
  return bad_input("{}: {} is {}; it must be {}", where_, key,
                   hairpin::json::brief(value_->at(key)), want);
}

bool JsonObject::has(const char* key) const { return value_->contains(key); }

Result<const nlohmann::json*> JsonObject::at(const char* key) {
  asked_.insert(key);
  const auto found = value_->find(key);
  if (found == value_->end())
    return bad_input("{}: {} is missing; the file is damaged or of another kind", where_, key);
  return &*found;
}

Result<std::int64_t> JsonObject::whole(const char* key, std::int64_t least, std::int64_t most) {
  HAIRPIN_TRY(const auto* value, at(key));
  if (const auto number = whole_in(*value, least, most)) return *number;
  return wrong(key, fmt::format("a whole number from {} to {}", least, most));
}

Result<double> JsonObject::number(const char* key) {
  HAIRPIN_TRY(const auto* value, at(key));
  if (value->is_number())
    if (const auto number = value->get<double>(); std::isfinite(number) && number >= 0)
      return number;
  return wrong(key, "a number that is not negative");
}

Result<std::string> JsonObject::text(const char* key) {
  HAIRPIN_TRY(const auto* value, at(key));
  if (!value->is_string()) return wrong(key, "a text");
  return value->get<std::string>();
}

Result<std::vector<std::int64_t>> JsonObject::wholes(const char* key, std::int64_t least,
                                                     std::int64_t most) {
  HAIRPIN_TRY(const auto* value, at(key));
  const auto want = fmt::format("a list of whole numbers from {} to {}", least, most);
  if (!value->is_array()) return wrong(key, want);
  std::vector<std::int64_t> made;
  for (const auto& one : *value) {
    const auto number = whole_in(one, least, most);
    if (!number) return wrong(key, want);
    made.push_back(*number);
  }
  return made;
}

Result<std::vector<bool>> JsonObject::flags(const char* key) {
  HAIRPIN_TRY(const auto* value, at(key));
  if (!value->is_array()) return wrong(key, "a list of true and false");
  std::vector<bool> made;
  for (const auto& one : *value) {
    if (!one.is_boolean()) return wrong(key, "a list of true and false");
    made.push_back(one.get<bool>());
  }
  return made;
}

Result<JsonObject> JsonObject::object(const char* key) {
  HAIRPIN_TRY(const auto* value, at(key));
  return of(*value, fmt::format("{}: {}", where_, key));
}

Result<void> JsonObject::nothing_else() const {
  for (const auto& [key, value] : value_->items())
    if (!asked_.contains(key))
      return bad_input("{}: unknown key \"{}\"; read it with the release that wrote it", where_,
                       key);
  return {};
}

}  // namespace hairpin::schedule

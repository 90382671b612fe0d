#include "hairpin/tokenizer/json_place.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "hairpin/tokenizer/utf8.h"

namespace hairpin::tokenizer {
namespace {

std::string dump(const nlohmann::json& value) {
  if (value.is_structured()) return value.is_array() ? "an array" : "an object";
  return shortened(value.dump(-1, ' ', true));
}

}  // namespace

std::string shortened(std::string_view text) {
  constexpr std::size_t kMost = 60;
  const bool cut = text.size() > kMost;
  return with_replacement_characters(text.substr(0, kMost)) + (cut ? "..." : "");
}

std::string JsonPlace::below(std::string_view key) const {
  const auto name = shortened(key);
  return path_.empty() ? name : path_ + "." + name;
}

std::optional<JsonPlace> JsonPlace::find(std::string_view key) const {
  if (!value_->is_object()) return std::nullopt;
  const auto member = value_->find(key);
  if (member == value_->end() || member->is_null()) return std::nullopt;
  return JsonPlace(*member, file_, below(key));
}

Result<JsonPlace> JsonPlace::at(std::string_view key) const {
  if (auto found = find(key)) return *found;
  return refuse("\"{}\" is missing; use a complete file of this kind", shortened(key));
}

Result<std::vector<JsonPlace>> JsonPlace::items() const {
  if (!value_->is_array())
    return refuse("{} where an array is due; use an intact file", dump(*value_));
  std::vector<JsonPlace> all;
  all.reserve(value_->size());
  for (const auto& item : *value_)
    all.push_back(JsonPlace(item, file_, fmt::format("{}[{}]", path_, all.size())));
  return all;
}

Result<std::string> JsonPlace::text() const {
  if (!value_->is_string())
    return refuse("{} where a text is due; use an intact file", dump(*value_));
  return value_->get<std::string>();
}

Result<std::string> JsonPlace::text_at(std::string_view key) const {
  HAIRPIN_TRY(const auto place, at(key));
  return place.text();
}

Result<std::int32_t> JsonPlace::token_id() const {
  const bool fits = value_->is_number_unsigned() && value_->get<std::uint64_t>() <= kMaxTokenId;
  if (!fits)
    return refuse("{} where a token id (0 to {}) is due; use an intact file", dump(*value_),
                  kMaxTokenId);
  return static_cast<std::int32_t>(value_->get<std::uint64_t>());
}

Result<bool> JsonPlace::flag(std::string_view key, bool otherwise) const {
  const auto place = find(key);
  if (!place) return otherwise;
  if (!place->json().is_boolean())
    return place->refuse("{} where true or false is due; use an intact file", dump(place->json()));
  return place->json().get<bool>();
}

Result<void> JsonPlace::only(std::initializer_list<std::string_view> known) const {
  if (!value_->is_object())
    return refuse("{} where an object is due; use an intact file", dump(*value_));
  for (const auto& [key, value] : value_->items())
    if (std::ranges::find(known, key) == known.end())
      return refuse("the option \"{}\" is not supported; use a model without it", shortened(key));
  return {};
}

Result<void> JsonPlace::must_be(std::string_view key, const nlohmann::json& wanted) const {
  const auto place = find(key);
  if (!place || place->json() == wanted) return {};
  return place->refuse("{} is not supported, only {}; use a model with that", dump(place->json()),
                       dump(wanted));
}

}  // namespace hairpin::tokenizer

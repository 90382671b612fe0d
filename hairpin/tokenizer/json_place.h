// A value inside a JSON file together with its path, so that every refusal says where.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hairpin/base/result.h"

namespace hairpin::tokenizer {

// A text of the file for a message: at most 60 bytes of it, as a hostile file's may be long.
std::string shortened(std::string_view text);

// Refers to JSON and a file name that outlive it.
class JsonPlace {
 public:
  JsonPlace(const nlohmann::json& value, std::string_view file) : value_(&value), file_(file) {}

  const nlohmann::json& json() const { return *value_; }

  Result<JsonPlace> at(std::string_view key) const;           // the member must exist
  std::optional<JsonPlace> find(std::string_view key) const;  // none where absent or null
  Result<std::vector<JsonPlace>> items() const;               // of an array

  Result<std::string> text() const;
  Result<std::int32_t> token_id() const;  // 0 to kMaxTokenId
  Result<std::string> text_at(std::string_view key) const;
  Result<bool> flag(std::string_view key, bool otherwise) const;  // absent or null: `otherwise`

  // Refuses the first key that is not among `known`.
  Result<void> only(std::initializer_list<std::string_view> known) const;
  // Refuses `key` unless it is absent, null or equal to `wanted`.
  Result<void> must_be(std::string_view key, const nlohmann::json& wanted) const;

  // "FILE: PATH: " and what is wrong there.
  template <class... Args>
  tl::unexpected<Error> refuse(fmt::format_string<Args...> format, Args&&... args) const {
    return bad_input("{}: {}: {}", file_, path_.empty() ? "the whole file" : path_,
                     fmt::format(format, std::forward<Args>(args)...));
  }

  static constexpr std::int32_t kMaxTokenId = (1 << 24) - 1;

 private:
  JsonPlace(const nlohmann::json& value, std::string_view file, std::string path)
      : value_(&value), file_(file), path_(std::move(path)) {}
  std::string below(std::string_view key) const;

  const nlohmann::json* value_;
  std::string_view file_;
  std::string path_;
};

}  // namespace hairpin::tokenizer

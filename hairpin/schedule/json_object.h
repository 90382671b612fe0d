// Values of a JSON object from outside, each of the kind it must be. One thread at a time.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "hairpin/base/result.h"

namespace hairpin::schedule {

// Errors of all members (bad_input): the key is missing, or its value is not what was asked for.
class JsonObject {
 public:
  // `where` names the file and the object for messages. Error: VALUE is not an object. It must
  // outlive what is returned.
  static Result<JsonObject> of(const nlohmann::json& value, std::string where);

  bool has(const char* key) const;
  Result<const nlohmann::json*> at(const char* key);
  Result<std::int64_t> whole(const char* key, std::int64_t least, std::int64_t most);
  Result<int> count(const char* key, int least) {
    HAIRPIN_TRY(const auto value, whole(key, least, std::numeric_limits<int>::max()));
    return static_cast<int>(value);
  }
  // Finite and not negative.
  Result<double> number(const char* key);
  Result<std::string> text(const char* key);
  Result<std::vector<std::int64_t>> wholes(const char* key, std::int64_t least, std::int64_t most);
  Result<std::vector<bool>> flags(const char* key);
  Result<JsonObject> object(const char* key);
  // Error: a key that none of the above has been asked for.
  Result<void> nothing_else() const;

 private:
  JsonObject(const nlohmann::json& value, std::string where)
      : value_(&value), where_(std::move(where)) {}
  tl::unexpected<Error> wrong(const char* key, std::string_view want) const;

  const nlohmann::json* value_;
  std::string where_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace hairpin::schedule

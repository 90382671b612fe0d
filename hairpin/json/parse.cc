#include "hairpin/json/parse.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace hairpin::json {
namespace {

struct Refused {
  std::string reason;
};

// Sees every event of the parser; throws what the parser itself would let pass.
class Strictness {
 public:
  explicit Strictness(int max_depth) : max_depth_(max_depth) {}

  bool operator()(int depth, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    using Event = nlohmann::json::parse_event_t;
    if (depth >= max_depth_) throw Refused{fmt::format("nested deeper than {} levels", max_depth_)};
    if (event == Event::object_start) {
      keys_.emplace_back();
    } else if (event == Event::object_end) {
      keys_.pop_back();
    } else if (event == Event::key) {
      const auto& key = value.get_ref<const std::string&>();
      if (!keys_.back().insert(key).second)
        throw Refused{fmt::format("the key \"{}\" occurs twice in one object", key)};
    }
    return true;
  }

 private:
  int max_depth_;
  std::vector<std::set<std::string>> keys_;  // of each object still open
};

}  // namespace

Result<nlohmann::json> parse(std::string_view text, std::string_view where, int max_depth) {
  try {
    // The parser copies its callback, so the state is kept outside of it.
    Strictness strictness(max_depth);
    return nlohmann::json::parse(text, [&](int depth, auto event, nlohmann::json& value) {
      return strictness(depth, event, value);
    });
  } catch (const Refused& refused) {
    return bad_input("{}: {}; correct the JSON", where, refused.reason);
  } catch (const nlohmann::json::parse_error& error) {
    return bad_input("{}: not valid JSON at byte {}; the file is damaged or of another kind", where,
                     error.byte);
  } catch (const nlohmann::json::exception&) {
    return bad_input("{}: holds a number out of range; correct the JSON", where);
  }
}

std::string brief(const nlohmann::json& value) {
  constexpr std::size_t kMost = 60;
  auto text = value.dump(-1, ' ', true);  // ASCII, so that it can be cut anywhere
  if (text.size() > kMost) text.replace(kMost, std::string::npos, "...");
  return text;
}

}  // namespace hairpin::json

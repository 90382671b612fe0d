// Added tokens: texts that become one token wherever they stand, before anything else is cut.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hairpin::tokenizer {

struct AddedToken {
  std::int32_t id = 0;
  std::string content;
  bool special = false;
  bool normalized = false;  // looked for after the others, in what they leave
};

// Finds the longest of a set of texts at the leftmost place. Immutable; safe to share.
class TokenMatcher {
 public:
  explicit TokenMatcher(const std::vector<const AddedToken*>& tokens);

  struct Match {
    std::size_t begin = 0, end = 0;
    const AddedToken* token = nullptr;
  };
  std::optional<Match> find(std::string_view text, std::size_t from) const;

 private:
  struct Node {
    std::map<char, std::size_t> next;
    const AddedToken* token = nullptr;
  };
  std::vector<Node> nodes_;
};

}  // namespace hairpin::tokenizer

#include "hairpin/tokenizer/added_tokens.h"

namespace hairpin::tokenizer {

TokenMatcher::TokenMatcher(const std::vector<const AddedToken*>& tokens) : nodes_(1) {
  for (const AddedToken* token : tokens) {
    std::size_t node = 0;
    for (const char byte : token->content) {
      const auto [edge, is_new] = nodes_[node].next.try_emplace(byte, nodes_.size());
      node = edge->second;
      if (is_new) nodes_.emplace_back();
    }
    if (node != 0 && !nodes_[node].token) nodes_[node].token = token;
  }
}

std::optional<TokenMatcher::Match> TokenMatcher::find(std::string_view text,
                                                      std::size_t from) const {
  if (nodes_.size() == 1) return std::nullopt;
  for (std::size_t begin = from; begin < text.size(); ++begin) {
    std::optional<Match> longest;
    std::size_t node = 0;
    for (std::size_t at = begin; at < text.size(); ++at) {
      const auto edge = nodes_[node].next.find(text[at]);
      if (edge == nodes_[node].next.end()) break;
      node = edge->second;
      if (nodes_[node].token) longest = Match{begin, at + 1, nodes_[node].token};
    }
    if (longest) return longest;
  }
  return std::nullopt;
}

}  // namespace hairpin::tokenizer

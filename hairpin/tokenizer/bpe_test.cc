#include "hairpin/tokenizer/bpe.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

namespace hairpin::tokenizer {
namespace {

using Ids = std::vector<std::int32_t>;

// The letters a to d are 0 to 3.
struct Model {
  std::vector<std::string> tokens = {"a", "b", "c", "d"};
  std::vector<Merge> merges;

  void merge(std::int32_t left, std::int32_t right) {
    const auto at = [&](std::int32_t id) { return tokens[static_cast<std::size_t>(id)]; };
    const std::string merged = at(left) + at(right);
    std::size_t id = 0;
    while (id < tokens.size() && tokens[id] != merged) ++id;
    if (id == tokens.size()) tokens.push_back(merged);
    merges.push_back({left, right, static_cast<std::int32_t>(id)});
  }
  std::unordered_map<std::string, std::int32_t> ids() const {
    std::unordered_map<std::string, std::int32_t> out;
    for (std::size_t id = 0; id < tokens.size(); ++id)
      out[tokens[id]] = static_cast<std::int32_t>(id);
    return out;
  }
  Bpe bpe(std::optional<std::int32_t> unknown = {}, bool whole_words = false) const {
    return Bpe(ids(), merges, unknown, whole_words);
  }
};

Ids encode(const Bpe& bpe, std::string_view text) {
  std::vector<PieceToken> tokens;
  bpe.encode(text, tokens);
  Ids ids;
  for (const auto& token : tokens) ids.push_back(token.id);
  return ids;
}

// The definition, word for word: of all adjacent pairs the one of lowest rank, leftmost, until
// none.
Ids encode_plainly(const Model& model, const std::string& text) {
  Ids ids;
  for (const char letter : text) ids.push_back(letter - 'a');
  for (;;) {
    std::size_t best_rank = model.merges.size(), best_at = 0;
    for (std::size_t at = 0; at + 1 < ids.size(); ++at)
      for (std::size_t rank = 0; rank < best_rank; ++rank)
        if (model.merges[rank].left == ids[at] && model.merges[rank].right == ids[at + 1])
          best_rank = rank, best_at = at;
    if (best_rank == model.merges.size()) return ids;
    ids[best_at] = model.merges[best_rank].merged;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best_at) + 1);
  }
}

TEST(Bpe, MergesByRankThenFromTheLeft) {
  Model model;
  model.merge(1, 2);  // bc = 4
  model.merge(0, 1);  // ab = 5
  model.merge(0, 0);  // aa = 6
  const Bpe bpe = model.bpe();
  EXPECT_EQ(encode(bpe, "abc"), (Ids{0, 4}));
  EXPECT_EQ(encode(bpe, "abd"), (Ids{5, 3}));
  EXPECT_EQ(encode(bpe, "aaa"), (Ids{6, 0}));
  EXPECT_EQ(encode(bpe, ""), Ids{});
}

// Once "bc" is merged, the merge of "ab" seen before must not be applied to "a" and "bc".
TEST(Bpe, ForgetsMergesThatNoLongerHold) {
  Model model;
  model.merge(1, 2);  // bc = 4
  model.merge(0, 1);  // ab = 5
  model.merge(0, 4);  // abc = 6
  EXPECT_EQ(encode(model.bpe(), "abcabcd"), (Ids{6, 6, 3}));
}

TEST(Bpe, SaysWhereTokensBegin) {
  Model model;
  model.merge(0, 1);
  std::vector<PieceToken> tokens;
  model.bpe().encode("cabxab", tokens);
  ASSERT_EQ(tokens.size(), 3u);
  EXPECT_EQ(tokens[0].offset, 0u);
  EXPECT_EQ(tokens[1].offset, 1u);
  EXPECT_EQ(tokens[2].offset, 4u);
}

TEST(Bpe, LeavesOutOrReplacesUnknownBytes) {
  Model model;
  model.merge(0, 1);
  EXPECT_EQ(encode(model.bpe(), "a?b"), Ids{4});  // as Hugging Face: what is left is adjacent
  EXPECT_EQ(encode(model.bpe(3), "a?b"), (Ids{0, 3, 1}));
  EXPECT_EQ(encode(model.bpe(), "??"), Ids{});
}

TEST(Bpe, TakesWholeWordsWhereAsked) {
  Model model;
  model.tokens.push_back("dad");
  EXPECT_EQ(encode(model.bpe(), "dad"), (Ids{3, 0, 3}));
  EXPECT_EQ(encode(model.bpe({}, true), "dad"), Ids{4});
}

RC_GTEST_PROP(Bpe, EqualsTheDefinition, ()) {
  Model model;
  const int count = *rc::gen::inRange(0, 12);
  for (int i = 0; i < count; ++i) {
    const auto id =
        rc::gen::inRange<std::int32_t>(0, static_cast<std::int32_t>(model.tokens.size()));
    const auto left = *id, right = *id;
    bool known = false;  // of two merges of a pair the later one would count
    for (const auto& merge : model.merges) known |= merge.left == left && merge.right == right;
    if (!known) model.merge(left, right);
  }
  const auto text = *rc::gen::container<std::string>(rc::gen::inRange('a', 'e'));
  RC_ASSERT(encode(model.bpe(), text) == encode_plainly(model, text));
}

}  // namespace
}  // namespace hairpin::tokenizer

// Against numbers put together by hand; runs are held against it in tests/distributed.
#include "hairpin/arch/tensor_memory.h"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>

namespace hairpin::arch {
namespace {

using Kind = SegmentSpec::Kind;

Architecture smollm2() {
  Architecture a;
  a.hidden_size = 576;
  a.intermediate_size = 1536;
  a.num_hidden_layers = 30;
  a.num_attention_heads = 9;
  a.num_key_value_heads = 3;
  a.head_dim = 64;
  a.vocab_size = 49152;
  a.tie_word_embeddings = true;
  return a;
}

// Every size a multiple of 16, so that nothing is padded; biases.
Architecture even() {
  Architecture a;
  a.hidden_size = 64;
  a.intermediate_size = 160;
  a.num_hidden_layers = 3;
  a.num_attention_heads = 4;
  a.num_key_value_heads = 2;
  a.head_dim = 16;
  a.vocab_size = 320;
  a.qkv_bias = a.output_bias = true;
  return a;
}

std::int64_t all_elements(const Architecture& a) {
  std::int64_t sum = 0;
  for (const auto& segment : segments(a))
    for (const auto& tensor : segment.tensors)
      sum += std::accumulate(tensor.shape.begin(), tensor.shape.end(), std::int64_t{1},
                             std::multiplies<>());
  return sum;
}

TEST(TensorMemory, ALayerOfSmolLM2) {
  const auto floats = [](std::int64_t tokens, const TensorParallelRank& tp) {
    return saved_bytes(smollm2(), Kind::layer, tokens, tp) / 4;
  };
  EXPECT_EQ(floats(1, {}), 1 + 960 + 576 + 576 + 1 + 3072 + 576);
  EXPECT_EQ(floats(100, {}), 100 * floats(1, {}));
  EXPECT_EQ(floats(1, {.ranks = 3}), 1 + 320 + 192 + 576 + 1 + 1024 + 576);
  // Five rows: two, two and one.
  const std::int64_t columns = 5 * (320 + 192 + 1024), row = 1 + 576 + 576 + 1 + 576 + 576;
  EXPECT_EQ(floats(5, {3, 0, true}), columns + 2 * row);
  EXPECT_EQ(floats(5, {3, 2, true}), columns + row);
  // Each of nine ranks has a query head and a copy of a K/V head.
  auto a = smollm2();
  a.intermediate_size = 1539;
  EXPECT_EQ(saved_bytes(a, Kind::layer, 1, {.ranks = 9}),
            4 * (1 + 192 + 64 + 576 + 1 + 2 * 171 + 576));
  EXPECT_EQ(floats(7, {1, 0, true}), floats(7, {}));
}

TEST(TensorMemory, EmbeddingAndHead) {
  const auto a = smollm2();
  EXPECT_EQ(saved_bytes(a, Kind::embedding, 10, {}), 10 * 4 + 10 * 576 * 4);
  EXPECT_EQ(saved_bytes(a, Kind::embedding, 10, {3, 1, true}), 10 * 4 + 3 * 576 * 4);
  EXPECT_EQ(saved_bytes(a, Kind::head, 10, {}), 10 * 576 * 4 + 8);
  EXPECT_EQ(saved_bytes(a, Kind::head, 10, {3, 0, true}), 4 * 576 * 4 + 8);
}

// The factors of the four matrix products of a layer, none twice.
TEST(TensorMemory, PendingOfALayerOfSmolLM2) {
  const auto floats = [](std::int64_t tokens, const TensorParallelRank& tp) {
    return pending_bytes(smollm2(), Kind::layer, tokens, tp) / 4;
  };
  EXPECT_EQ(floats(1, {}), (576 + 960) + (576 + 576) + (576 + 3072) + (1536 + 576));
  EXPECT_EQ(floats(100, {}), 100 * floats(1, {}));
  EXPECT_EQ(floats(1, {.ranks = 3}), (576 + 320) + (192 + 576) + (576 + 1024) + (512 + 576));
  // Five rows: two, two and one.
  EXPECT_EQ(floats(5, {3, 2, true}),
            (576 + 5 * 320) + (5 * 192 + 576) + (576 + 5 * 1024) + (5 * 512 + 576));
  EXPECT_EQ(pending_bytes(smollm2(), Kind::embedding, 1, {}), 0);
  EXPECT_EQ(pending_bytes(smollm2(), Kind::head, 1, {}), 0);
}

TEST(TensorMemory, WorkingOfASplitBackwardOfSmolLM2) {
  const MicrobatchSize one{.tokens = 1, .trained_tokens = 1, .longest_sample = 1};
  const auto floats = [&](const MicrobatchSize& m) {
    return input_gradient_working_bytes(smollm2(), Kind::layer, m, {}) / 4;
  };
  // SwiGLU: its output's gradient, and gate's and up's, beside its output and the layer's gradient.
  EXPECT_EQ(floats(one), 576 + 4 * 1536);
  EXPECT_EQ(forward_working_bytes(smollm2(), Kind::layer, one, {}), 1536 * 4);
  // Long samples: a block's scores beside what is pending by then.
  const MicrobatchSize long_sample{.tokens = 200, .longest_sample = 200};
  const std::int64_t scores = 9 * 128 * 200, block = 128 * 576;
  EXPECT_EQ(floats(long_sample), 200 * (1536 + 2 * 576 + 576 + 960) + 2 * (scores + block));
}

TEST(TensorMemory, OneRankHoldsEveryElementOfTheModelOnce) {
  for (const bool tied : {false, true}) {
    auto a = even();
    a.tie_word_embeddings = tied;
    const auto bytes = 4 * all_elements(a);
    const auto table = std::int64_t{4} * 320 * 64;
    const ParameterMemory whole{bytes, bytes + (tied ? table : 0), 2 * bytes};
    EXPECT_EQ(parameter_memory(a, {{0, 5}}, {}, {}), whole);
    // On two ranks the tied head holds a table of its own, which counts as any other parameter.
    const auto first = parameter_memory(a, {{0, 2}}, {}, {.moments = 1});
    const auto last = parameter_memory(a, {{2, 5}}, {}, {.moments = 1});
    EXPECT_EQ(first.weights + last.weights, bytes + (tied ? table : 0));
    EXPECT_EQ(first.gradients, first.weights);
    EXPECT_EQ(last.gradients, last.weights);
    EXPECT_EQ(last.optimizer, last.weights);
  }
}

TEST(TensorMemory, ParametersStartOn64BytesAndVocabulariesNeedNotDivide) {
  auto a = even();
  a.hidden_size = 24;
  a.vocab_size = 331;
  // 331 rows over four ranks: 83, 83, 83, 82, of 24 each; 82 * 24 is a multiple of 16.
  EXPECT_EQ(parameter_memory(a, {{0, 1}}, {4, 0, false}, {}).weights, 4 * (83 * 24 + 8));
  EXPECT_EQ(parameter_memory(a, {{0, 1}}, {4, 3, false}, {}).weights, 4 * 82 * 24);
  // The final norm and the output head.
  EXPECT_EQ(parameter_memory(a, {{4, 5}}, {4, 3, false}, {}).weights, 4 * (32 + 82 * 24));
}

TEST(TensorMemory, ZeRODividesTheOptimizersStateOnly) {
  const auto a = even();
  const auto whole = parameter_memory(a, {{0, 5}}, {}, {});
  std::int64_t optimizer = 0;
  for (std::int64_t replica = 0; replica < 3; ++replica) {
    const auto share = parameter_memory(a, {{0, 5}}, {}, {3, replica, 1, 2});
    EXPECT_EQ(share.weights, whole.weights);
    EXPECT_EQ(share.gradients, whole.gradients);
    // Of each of the five buckets a third, give or take 16 elements.
    EXPECT_NEAR(static_cast<double>(share.optimizer), static_cast<double>(whole.optimizer) / 3,
                5 * 2 * 64);
    optimizer += share.optimizer;
  }
  EXPECT_EQ(optimizer, whole.optimizer);
}

}  // namespace
}  // namespace hairpin::arch

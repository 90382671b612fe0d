// Stages as islands, and a schedule's execution: ranks as threads against one rank, bit for bit.
#include "hairpin/pipeline/executor.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>
#include <thread>

#include "hairpin/base/check.h"
#include "hairpin/models/model_part.h"
#include "hairpin/pipeline/segment_stage.h"
#include "hairpin/schedule/generate.h"

namespace hairpin::pipeline {
namespace {

using WeakStorage = c10::weak_intrusive_ptr<c10::StorageImpl>;

// y = h h with h = 2 x; notes when h, which the graph keeps, and y are freed.
class SquareSegment : public models::Segment {
 public:
  SquareSegment() : Segment({}) {}
  Tensor forward(const Tensor& x, const models::MicrobatchInput&) override {
    const Tensor h = x * 2.0;
    Tensor y = h * h;
    kept_.push_back({h.storage().getWeakStorageImpl(), y.storage().getWeakStorageImpl()});
    if (on_backward) y.register_hook([this](const Tensor&) { on_backward(); });
    return y;
  }
  Tensor extend(const Tensor& x, const models::MicrobatchInput&, nn::KeyValueCache&) override {
    return x;
  }
  bool freed(std::size_t call) const {
    return kept_.at(call)[0].expired() && kept_.at(call)[1].expired();
  }

  std::function<void()> on_backward;

 private:
  std::vector<std::array<WeakStorage, 2>> kept_;
};

const auto kNoInput = std::make_shared<const models::MicrobatchInput>();

TEST(SegmentStage, KeepsAMicrobatchFromForwardToBackward) {
  SquareSegment first, second;
  SegmentStage stage({&first, &second});
  const Tensor x = at::full({2, 3}, 0.5);
  const Tensor y = stage.forward(7, x, kNoInput);
  EXPECT_TRUE(y.equal(at::full({2, 3}, 4.0)));  // 4 (4 x^2)^2 = 64 x^4
  EXPECT_FALSE(y.requires_grad() || x.requires_grad());
  stage.forward(8, x, kNoInput);
  EXPECT_EQ(stage.in_flight(), 2u);
  EXPECT_THROW(stage.forward(7, x, kNoInput), BrokenInvariant);
  EXPECT_EQ(stage.in_flight(), 2u);

  const Tensor dx = stage.backward(7, at::ones({2, 3}), false);
  EXPECT_TRUE(dx.equal(at::full({2, 3}, 32.0)));  // 256 x^3
  EXPECT_EQ(stage.in_flight(), 1u);
  EXPECT_THROW(stage.backward(7, at::ones({2, 3}), false), BrokenInvariant);
}

TEST(SegmentStage, FreesASegmentsGraphAsSoonAsItsBackwardIsDone) {
  SquareSegment first, second;
  SegmentStage stage({&first, &second});
  bool checked = false;
  first.on_backward = [&] {
    EXPECT_TRUE(second.freed(0));
    EXPECT_FALSE(first.freed(0));
    checked = true;
  };
  stage.forward(0, at::ones({2, 3}), kNoInput);
  stage.forward(1, at::ones({2, 3}), kNoInput);
  EXPECT_FALSE(first.freed(0) || second.freed(0));
  stage.backward(0, at::ones({2, 3}), false);
  EXPECT_TRUE(checked);
  EXPECT_TRUE(first.freed(0) && second.freed(0));
  EXPECT_FALSE(first.freed(1) || second.freed(1));
}

TEST(SegmentStage, HoldsTheInputThatItsGraphsPointInto) {
  SquareSegment segment;
  SegmentStage stage({&segment});
  auto input = std::make_shared<models::MicrobatchInput>();
  const std::weak_ptr<models::MicrobatchInput> weak = input;
  stage.forward(0, at::ones({1, 1}), std::move(input));
  EXPECT_FALSE(weak.expired());
  stage.backward(0, at::ones({1, 1}), false);
  EXPECT_TRUE(weak.expired());
}

const arch::Architecture kModel{.model_type = "llama",
                                .hidden_size = 24,
                                .intermediate_size = 40,
                                .num_hidden_layers = 4,
                                .num_attention_heads = 4,
                                .num_key_value_heads = 2,
                                .head_dim = 6,
                                .vocab_size = 53,
                                .max_position_embeddings = 64,
                                .rms_norm_eps = 1e-5,
                                .rope_theta = 10000.0};
constexpr std::int64_t kSegments = 6;

std::shared_ptr<models::MicrobatchInput> microbatch(std::int32_t number) {
  auto input = std::make_shared<models::MicrobatchInput>();
  for (const std::int64_t length : {5 + number, 3}) {
    input->layout.append(length);
    for (std::int64_t i = 0; i < length; ++i) {
      input->tokens.push_back(static_cast<std::int32_t>(i * 7 + number * 11) % 53);
      input->targets.push_back(i + 1 < length ? static_cast<std::int32_t>(i * 5 + number) % 53
                                              : -1);
      input->weights.push_back(0.05f);
    }
  }
  return input;
}

// Every parameter by its name alone, so that any cut gets the same ones.
void set_weights(models::ModelPart& part) {
  for (auto* bucket : part.buckets())
    for (auto& parameter : bucket->parameters()) {
      at::manual_seed(std::hash<std::string>{}(parameter.spec.name));
      parameter.value.normal_(0.0, 0.1);
    }
}

struct Outcome {
  double loss = 0;
  std::map<std::string, Tensor> gradients;
};

// Trains one step with the ranks of `schedule` as threads, two segments or all of them on each.
Outcome run(const schedule::Schedule& schedule, const StepInputs& inputs) {
  const auto ranks = static_cast<std::size_t>(schedule.num_ranks());
  Mailbox mailbox;
  LocalChannel channel(mailbox, 0);
  std::vector<Outcome> outcomes(ranks);
  const auto run_rank = [&](int rank) {
    const auto each = kSegments / schedule.num_ranks();
    const arch::SegmentRange range{rank * each, (rank + 1) * each};
    models::ModelPart part(kModel, {range}, {.positions = 64, .loss_chunk = 4});
    {
      static std::mutex generator;  // LibTorch's is one for all
      const std::lock_guard lock(generator);
      set_weights(part);
    }
    part.begin_step();
    SegmentStage stage(part.segments(range));
    Executor executor(std::make_shared<schedule::Schedule>(schedule), rank, {{rank, &stage}},
                      {{rank - 1, &channel}, {rank, &channel}});
    const auto done = executor.run(0, inputs);
    ASSERT_TRUE(done) << done.error().message;
    part.finish_gradients();
    EXPECT_EQ(stage.in_flight(), 0u);
    auto& outcome = outcomes[static_cast<std::size_t>(rank)];
    for (const double loss : done->losses) outcome.loss += loss;
    for (auto* bucket : part.buckets())
      for (auto& parameter : bucket->parameters())
        outcome.gradients[parameter.spec.name] = parameter.gradient.clone();
  };
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < schedule.num_ranks(); ++rank) threads.emplace_back(run_rank, rank);
  }
  EXPECT_EQ(mailbox.waiting(), 0u);
  Outcome all = outcomes.back();
  for (auto& outcome : outcomes) all.gradients.merge(outcome.gradients);
  return all;
}

// The weights' gradients of a split backward come later and are the same.
TEST(SegmentStage, ASplitBackwardGivesTheSameBits) {
  const arch::SegmentRange middle{1, 5};
  const auto gradients = [&](bool split) {
    models::ModelPart part(kModel, {middle}, {.positions = 64});
    set_weights(part);
    part.begin_step();
    SegmentStage stage(part.segments(middle));
    at::manual_seed(3);
    std::vector<Tensor> dx;
    std::vector<Tensor> dy;
    for (int i = 0; i < 3; ++i) {
      const auto input = microbatch(i);
      stage.forward(i, at::randn({input->layout.tokens, kModel.hidden_size}), input);
      dy.push_back(at::randn({input->layout.tokens, kModel.hidden_size}));
    }
    for (int i = 0; i < 3; ++i)
      dx.push_back(split ? stage.backward_input(i, dy[static_cast<std::size_t>(i)])
                         : stage.backward(i, dy[static_cast<std::size_t>(i)], false));
    EXPECT_EQ(stage.in_flight(), 0u);
    if (split) {
      EXPECT_FALSE(part.buckets().front()->parameters()[1].has_gradient);
      EXPECT_EQ(stage.pending_weights(), 3u);
      EXPECT_THROW(stage.backward_weight(1, false), BrokenInvariant);
      for (int i = 0; i < 3; ++i) stage.backward_weight(i, i == 2);
      EXPECT_EQ(stage.pending_weights(), 0u);
    }
    part.finish_gradients();
    for (auto* bucket : part.buckets()) dx.push_back(bucket->gradients().clone());
    return dx;
  };
  const auto whole = gradients(false), split = gradients(true);
  ASSERT_EQ(whole.size(), 3u + 4);
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_TRUE(split[i].equal(whole[i])) << i;
}

TEST(Executor, ALineOfRanksEqualsOneRankBitForBit) {
  constexpr int kMicrobatches = 5;
  StepInputs inputs;
  for (int i = 0; i < kMicrobatches; ++i) inputs.push_back(microbatch(i));
  const auto made = [&](const char* kind, int ranks) {
    return schedule::generate(kind, {.pp = ranks, .microbatches = kMicrobatches}).value();
  };
  const Outcome whole = run(made("1f1b", 1), inputs);
  EXPECT_GT(whole.loss, 0.0);
  EXPECT_EQ(whole.gradients.size(), 1u + 4 * 6 + 2);
  for (const auto* kind : {"gpipe", "1f1b"}) {
    const Outcome line = run(made(kind, 3), inputs);
    EXPECT_EQ(line.loss, whole.loss) << kind;
    ASSERT_EQ(line.gradients.size(), whole.gradients.size());
    for (const auto& [name, gradient] : whole.gradients)
      EXPECT_TRUE(line.gradients.at(name).equal(gradient)) << kind << ": " << name;
  }
}

class OneRankOfThree : public testing::Test {
 protected:
  OneRankOfThree() { part_.begin_step(); }
  Result<StepOutcome> run() {
    Executor executor(std::make_shared<schedule::Schedule>(schedule_), 1, {{1, &stage_}},
                      {{0, &channel_}, {1, &channel_}});
    return executor.run(4, inputs_);
  }
  Mailbox mailbox_;
  LocalChannel channel_{mailbox_, 0};
  const schedule::Schedule schedule_ =
      schedule::generate("gpipe", {.pp = 3, .microbatches = 1}).value();
  const StepInputs inputs_{microbatch(0)};  // 8 tokens
  models::ModelPart part_{kModel, {{2, 4}}, {.positions = 64}};
  SegmentStage stage_{part_.segments({2, 4})};
};

// What a peer sends may have any number of rows.
TEST_F(OneRankOfThree, ATensorOfAnotherSizeThanItsMicrobatchIsThePeersFault) {
  const Tag tag{wire::TensorKind::activation, 0, 0, 4, 0};
  for (const std::int64_t rows : {1, 7, 9}) {
    mailbox_.put(tag, at::zeros({rows, 24}));
    const auto refused = run();
    ASSERT_FALSE(refused) << rows;
    EXPECT_EQ(refused.error().kind, ErrorKind::peer);
  }
  mailbox_.put(tag, at::zeros({8, 24}));
  mailbox_.put({wire::TensorKind::gradient, 1, 0, 4, 0}, at::zeros({9, 24}));
  const auto refused = run();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::peer);
}

TEST(Executor, FollowsAnotherOrderOfTheSameOps) {
  const auto made = [](const char* kind, int microbatches) {
    return std::make_shared<schedule::Schedule>(
        schedule::generate(kind, {.pp = 1, .microbatches = microbatches}).value());
  };
  models::ModelPart part(kModel, {{0, kSegments}}, {.positions = 64, .loss_chunk = 4});
  set_weights(part);
  SegmentStage stage(part.segments({0, kSegments}));
  const auto first = made("1f1b", 3), second = made("gpipe", 3);
  Executor executor(first, 0, {{0, &stage}}, {});
  const StepInputs inputs{microbatch(0), microbatch(1), microbatch(2)};
  const auto ops_run = [&](std::int64_t step) {
    part.begin_step();
    const auto done = executor.run(step, inputs);
    EXPECT_TRUE(done);
    std::vector<schedule::Op> ops;
    auto last = done->ops.front().begin;
    for (const auto& op : done->ops) {
      ops.push_back(op.op);
      EXPECT_LE(last, op.begin);
      EXPECT_LT(op.begin, op.end);
      last = op.end;
    }
    EXPECT_GT(done->busy_seconds(), 0.0);
    return ops;
  };
  EXPECT_EQ(ops_run(0), first->ranks[0]);
  executor.follow(second);
  EXPECT_EQ(ops_run(1), second->ranks[0]);
  EXPECT_THROW(executor.follow(made("gpipe", 4)), BrokenInvariant);
}

TEST_F(OneRankOfThree, AFailedChannelEndsTheStep) {
  mailbox_.fail({ErrorKind::link_lost, "gone"});
  const auto ended = run();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().message, "gone");
}

}  // namespace
}  // namespace hairpin::pipeline

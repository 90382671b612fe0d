// The tensor memory of runs is what hairpin/arch/tensor_memory.h says, which is docs/numerics.md's
// list as code: weights, gradients and the optimizer's state to the byte, activations and the peak
// within 5 %, on one site and on two. And no rank ever makes a tensor as large as the logits of a
// quarter of its tokens.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "hairpin/arch/tensor_memory.h"
#include "hairpin/hf/tiny_model.h"
#include "hairpin/schedule/in_flight.h"
#include "hairpin/train/run.h"
#include "hairpin/train/setup.h"
#include "tests/fixture/runs.h"
#include "tests/fixture/sites.h"

namespace hairpin {
namespace {

using arch::SegmentSpec;
using config::Site;
using train::Part;

constexpr std::int64_t kSample = 97, kSamples = 2;  // tokens of each, samples in a microbatch
constexpr std::int64_t kMicrobatches = 4;           // a domain
constexpr double kBound = 0.02;                     // promised are 5 %

// Samples of one length, every token after the first trained on.
samples::Dataset full_dataset(std::int64_t length, std::int64_t vocab) {
  auto dataset = random_dataset(60, length, vocab, 5);
  for (auto& sample : dataset.samples) {
    sample.tokens.resize(static_cast<std::size_t>(length), 3);
    sample.trained.assign(static_cast<std::size_t>(length), true);
    sample.trained[0] = false;
  }
  return dataset;
}

config::Job memory_job(const std::filesystem::path& model, const std::filesystem::path& output) {
  auto job = tiny_job(model, output);
  job.train.steps = 2;
  job.train.microbatches = kMicrobatches;
  job.train.microbatch_size = kSamples;
  job.data.sequence_length = kSample;
  job.data.packing = false;
  return job;
}

arch::MicrobatchSize microbatch_of(const config::Job& job) {
  return {.tokens = kSamples * kSample,
          .trained_tokens = kSamples * (kSample - 1),
          .longest_sample = kSample,
          .loss_chunk = job.train.loss_chunk};
}

std::int64_t moments(const config::Optimizer& optimizer) {
  return optimizer.kind == "adamw" ? 2 : optimizer.momentum > 0 ? 1 : 0;
}

struct Range {
  std::int64_t least = 0, most = 0;
};

struct Expected {
  arch::ParameterMemory parameters;
  Range activations;
  std::int64_t most_link = 0;
  std::int64_t all_parameters() const {
    return parameters.weights + parameters.gradients + parameters.optimizer;
  }
};

// The gradients that a stage has made and that the stage before, on another rank of the site, has
// yet to use, or the link's encoder to encode: from none to as many as that stage has more in
// flight or, its backward being split, holds.
std::int64_t most_waiting(const train::Setup& setup, int stage) {
  if (stage == 0) return 0;
  const auto peak = schedule::peak_in_flight(setup.schedule);
  const auto index = static_cast<std::size_t>(stage);
  return setup.schedule.is_split(stage - 1) ? peak.held[index - 1]
                                            : peak.stage[index - 1] - peak.stage[index];
}

// A microbatch in flight at the edge has two tensors from the other site at most, one pending on
// the cloud's last stage the gradient; with sequence parallelism one is cut at a time.
std::int64_t most_of_link(const train::Setup& setup) {
  std::int64_t tensors = setup.site().sequence_parallel ? 1 : 0;
  const auto peak = schedule::peak_in_flight(setup.schedule);
  for (int rank = 0; rank < setup.schedule.edge_ranks; ++rank)
    tensors += 2 * peak.rank[static_cast<std::size_t>(rank)];
  if (setup.part == Part::cloud)
    tensors += setup.schedule.domains * peak.pending_weights.rbegin()[1];
  return tensors *
         arch::stage_tensor_bytes(setup.model.architecture, microbatch_of(setup.job).tokens, {});
}

arch::TensorParallelRank tensor_parallel_rank(const train::Setup& setup, int rank) {
  const auto& site = setup.site();
  return {site.tensor_parallel, setup.mesh().coordinate(rank).tp, site.sequence_parallel};
}

// What a stage keeps of a microbatch in flight and of a pending one, and has beside that during a
// forward and a backward.
struct StageMemory {
  std::int64_t saved = 0, pending = 0, forward = 0, backward = 0;
};

// A split backward runs from the last segment to the first: those it has done are pending, those to
// come are saved. The gradient it begins with counts elsewhere, unless the head made it.
void split_backward(StageMemory& memory, const std::vector<SegmentSpec::Kind>& kinds,
                    const arch::Architecture& a, const arch::MicrobatchSize& microbatch,
                    const arch::TensorParallelRank& tp) {
  std::int64_t done = 0;
  if (kinds.back() != SegmentSpec::Kind::head)
    done -= arch::stage_tensor_bytes(a, microbatch.tokens, tp);
  memory.pending = done;
  for (auto kind = kinds.rbegin(); kind != kinds.rend(); ++kind) {
    const auto working = arch::input_gradient_working_bytes(a, *kind, microbatch, tp);
    memory.backward = std::max(memory.backward, done + working);
    const auto pending = arch::pending_bytes(a, *kind, microbatch.tokens, tp);
    memory.pending += pending;
    done += pending - arch::saved_bytes(a, *kind, microbatch.tokens, tp);
  }
}

StageMemory stage_memory(const train::Setup& setup, int stage, const arch::TensorParallelRank& tp) {
  const auto& a = setup.model.architecture;
  const auto microbatch = microbatch_of(setup.job);
  const auto specs = arch::segments(a);
  const auto range = setup.stages[static_cast<std::size_t>(stage)];
  std::vector<SegmentSpec::Kind> kinds;
  for (auto i = range.begin; i < range.end; ++i)
    kinds.push_back(specs[static_cast<std::size_t>(i)].kind);
  StageMemory memory;
  for (const auto kind : kinds) {
    memory.saved += arch::saved_bytes(a, kind, microbatch.tokens, tp);
    memory.forward = std::max(memory.forward, arch::forward_working_bytes(a, kind, microbatch, tp));
    memory.backward = std::max(memory.backward, arch::working_bytes(a, kind, microbatch, tp));
  }
  if (setup.schedule.is_split(stage)) {
    memory.backward = 0;
    split_backward(memory, kinds, a, microbatch, tp);
  }
  return memory;
}

// The most over a rank's list of what its stages keep and need by then.
std::int64_t peak_of_list(const train::Setup& setup, int list, const arch::TensorParallelRank& tp) {
  std::map<int, StageMemory> stages;
  for (const int stage : setup.schedule.stages_of(list))
    stages[stage] = stage_memory(setup, stage, tp);
  std::int64_t kept = 0, peak = 0;
  for (const auto& op : setup.schedule.ranks[static_cast<std::size_t>(list)]) {
    const auto& stage = stages[op.stage];
    const bool forward = op.kind == schedule::OpKind::forward;
    if (forward) kept += stage.saved;
    if (op.kind != schedule::OpKind::backward_weight)
      peak = std::max(peak, kept + (forward ? stage.forward : stage.backward));
    if (op.kind == schedule::OpKind::backward_weight) kept -= stage.pending;
    if (op.kind == schedule::OpKind::backward) kept -= stage.saved;
    if (op.kind == schedule::OpKind::backward_input) kept += stage.pending - stage.saved;
    peak = std::max(peak, kept);
  }
  return peak;
}

Expected expected(const train::Setup& setup, int rank) {
  const auto at = setup.mesh().coordinate(rank);
  const auto& a = setup.model.architecture;
  const auto tp = tensor_parallel_rank(setup, rank);
  const int list = setup.schedule_rank(at);
  std::vector<arch::SegmentRange> held;
  std::int64_t waiting = 0;
  for (const int stage : setup.schedule.stages_of(list)) {
    held.push_back(setup.stages[static_cast<std::size_t>(stage)]);
    waiting += most_waiting(setup, stage) *
               arch::stage_tensor_bytes(a, microbatch_of(setup.job).tokens, tp);
  }
  const auto least =
      peak_of_list(setup, list, tp) + arch::rotary_table_bytes(a, setup.job.data.sequence_length);
  const arch::Replicas replicas{setup.site().data_parallel, at.dp, setup.site().zero,
                                moments(setup.job.optimizer)};
  return {arch::parameter_memory(a, held, tp, replicas),
          {least, least + waiting},
          setup.part != Part::whole && rank == 0 ? most_of_link(setup) : 0};
}

struct Case {
  std::string name;
  Site site;
  std::string schedule = "gpipe";
  std::string model_type = "llama";  // tied; else not
  std::string optimizer = "adamw";
  bool split_backward = false;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
std::string case_name(const testing::TestParamInfo<Case>& info) { return info.param.name; }

std::vector<Case> cases() {
  return {{"one_rank", {}},
          {"one_rank_1f1b", {}, "1f1b"},
          {"one_rank_qwen2_sgd", {}, "gpipe", "qwen2", "sgd"},
          {"tp2", tp(2)},
          {"tp4_qwen2", tp(4), "gpipe", "qwen2"},
          {"tp2_sp", tp(2, true)},
          {"tp4_sp", tp(4, true)},
          {"tp4_sp_qwen2", tp(4, true), "gpipe", "qwen2"},
          {"dp2", dp(2)},
          {"dp2_zero1", zero(dp(2))},
          {"dp3_zero1_qwen2", zero(dp(3)), "gpipe", "qwen2"},
          {"tp2_dp2_pp2_zero1", zero(dp(2, pp({3, 1}, tp(2))))},
          {"tp2_dp2_pp2_sp_zero1", zero(dp(2, pp({3, 1}, tp(2, true))))},
          {"pp2_1f1b", pp({2, 2}), "1f1b", "qwen2"},
          {"pp2_1f1b_split_backward", pp({2, 2}), "1f1b", "qwen2", "adamw", true},
          {"pp2_gpipe_split_backward", pp({1, 3}), "gpipe", "llama", "adamw", true},
          {"pp3_zb_h1", pp({1, 1, 2}), "zb-h1", "qwen2"},
          {"tp2_pp2_split_backward", pp({1, 3}, tp(2)), "1f1b", "llama", "adamw", true},
          {"tp2_pp2_sp_split_backward", pp({1, 3}, tp(2, true)), "1f1b", "llama", "adamw", true}};
}

void expect_within(std::int64_t measured, Range range, const char* what) {
  EXPECT_GE(static_cast<double>(measured), static_cast<double>(range.least) * (1 - kBound)) << what;
  EXPECT_LE(static_cast<double>(measured), static_cast<double>(range.most) * (1 + kBound)) << what;
}

void expect_as_listed(const train::Setup& setup) {
  const auto measured = memory_of(setup.output_directory());
  ASSERT_EQ(measured.size(), static_cast<std::size_t>(setup.mesh().num_ranks()));
  for (std::size_t rank = 0; rank < measured.size(); ++rank) {
    const auto want = expected(setup, static_cast<int>(rank));
    const auto& got = measured[rank];
    SCOPED_TRACE(got.rank);
    EXPECT_EQ(got.rank, setup.rank_name(setup.mesh().coordinate(static_cast<int>(rank))));
    EXPECT_EQ(got.weights, want.parameters.weights);
    EXPECT_EQ(got.gradients, want.parameters.gradients);
    EXPECT_EQ(got.optimizer, want.parameters.optimizer);
    EXPECT_LE(got.link, want.most_link);
    EXPECT_EQ(got.link > 0, want.most_link > 0);
    // The moment of the rank's peak may be one when more of the link's tensors were there.
    expect_within(got.activations, {want.activations.least - want.most_link, want.activations.most},
                  "activations");
    const auto fixed = want.all_parameters();
    expect_within(got.peak,
                  {fixed + want.activations.least, fixed + want.activations.most + want.most_link},
                  "peak");
  }
}

class Memory : public testing::TestWithParam<Case> {};

TEST_P(Memory, OfEachRankIsAsListed) {
  const auto& c = GetParam();
  const TemporaryDirectory directory;
  const auto model = directory.path() / "model";
  ASSERT_TRUE(hf::write_tiny_model(
      model,
      {.model_type = c.model_type, .layers = 4, .heads = 8, .tied = c.model_type == "llama"}));
  auto job = memory_job(model, directory.path() / "run");
  job.site = c.site;
  job.schedule.kind = c.schedule;
  job.schedule.split_backward = c.split_backward;
  job.optimizer.kind = c.optimizer;
  const auto setup = train::prepare(job, Part::whole);
  ASSERT_TRUE(setup) << setup.error().message;
  const auto done = train::train_whole(*setup, full_dataset(kSample, 331));
  ASSERT_TRUE(done) << done.error().message;
  expect_as_listed(*setup);
}

INSTANTIATE_TEST_SUITE_P(Layouts, Memory, testing::ValuesIn(cases()), case_name);

struct SplitCase {
  std::string name;
  Site edge, cloud;
  bool split_backward = false;
};
void PrintTo(const SplitCase& c, std::ostream* out) { *out << c.name; }
std::string split_name(const testing::TestParamInfo<SplitCase>& info) { return info.param.name; }

class SplitMemory : public testing::TestWithParam<SplitCase> {};

TEST_P(SplitMemory, OfEachRankIsAsListed) {
  const auto& c = GetParam();
  const TemporaryDirectory directory;
  const auto model = directory.path() / "model";
  ASSERT_TRUE(hf::write_tiny_model(model, {.layers = 6, .heads = 8}));
  auto job = memory_job(model, directory.path() / "run");
  set_split(job, {1, 2, 2, 1}, c.edge, c.cloud);
  job.schedule.split_backward = c.split_backward;
  const auto edge = train::prepare(job, Part::edge), cloud = train::prepare(job, Part::cloud);
  ASSERT_TRUE(edge) << edge.error().message;
  ASSERT_TRUE(cloud) << cloud.error().message;
  const auto end = try_split(job, full_dataset(kSample, 331), memory_pair());
  ASSERT_TRUE(end.edge) << end.edge.error().message;
  ASSERT_TRUE(end.cloud) << end.cloud.error().message;
  expect_as_listed(*edge);
  expect_as_listed(*cloud);
}

INSTANTIATE_TEST_SUITE_P(Sites, SplitMemory,
                         testing::Values(SplitCase{"edge_tp1_cloud_tp1", {}, {}},
                                         SplitCase{"edge_tp1_cloud_tp2", {}, tp(2)},
                                         SplitCase{"edge_tp2_sp_cloud_tp4_sp", tp(2, true),
                                                   tp(4, true)},
                                         SplitCase{"edge_dp1_cloud_dp2", {}, dp(2)},
                                         SplitCase{"split_backward", {}, {}, true},
                                         SplitCase{"cloud_tp2_split_backward", {}, tp(2), true}),
                         split_name);

class LargestTensor : public testing::TestWithParam<SplitCase> {};

// A vocabulary that is large against all else: only a chunk's logits come near the bound.
TEST_P(LargestTensor, OfAnEdgeRankIsAChunksLogits) {
  constexpr std::int64_t kVocab = 2048, kTokens = 64, kChunk = 8;
  const auto& c = GetParam();
  const TemporaryDirectory directory;
  const auto model = directory.path() / "model";
  ASSERT_TRUE(hf::write_tiny_model(
      model, {.layers = 3, .hidden = 16, .intermediate = 32, .heads = 2, .vocab = kVocab}));
  auto job = tiny_job(model, directory.path() / "run");
  set_split(job, {1, 1, 1}, c.edge, c.cloud);
  job.train.microbatches = 4;
  job.train.loss_chunk = kChunk;
  job.data.sequence_length = kTokens;
  job.data.packing = false;
  const auto end = try_split(job, full_dataset(kTokens, kVocab), memory_pair());
  ASSERT_TRUE(end.edge) << end.edge.error().message;
  ASSERT_TRUE(end.cloud) << end.cloud.error().message;

  const auto ranks = memory_of(job.output.directory / "edge");
  ASSERT_EQ(ranks.size(), static_cast<std::size_t>(c.edge.tensor_parallel * c.edge.data_parallel));
  for (const auto& rank : ranks) {
    SCOPED_TRACE(rank.rank);
    EXPECT_EQ(rank.largest, kChunk * kVocab / c.edge.tensor_parallel * 4);
    EXPECT_LT(rank.largest, kTokens * kVocab / 4 * 4);
  }
}

INSTANTIATE_TEST_SUITE_P(Edges, LargestTensor,
                         testing::Values(SplitCase{"tp1", {}, {}},
                                         SplitCase{"tp1_dp2", dp(2), dp(2)},
                                         SplitCase{"tp2", tp(2), {}},
                                         SplitCase{"tp2_sp", tp(2, true), tp(2)},
                                         SplitCase{"tp2_sp_dp2", dp(2, tp(2, true)), dp(2)}),
                         split_name);

}  // namespace
}  // namespace hairpin

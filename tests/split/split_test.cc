// Split training equals unsplit training: every step's loss, every gradient norm, every exported
// byte, for all cuts, schedules, microbatch counts, with packing and without, over both links.
#include <gtest/gtest.h>

#include <algorithm>

#include "hairpin/hf/tiny_model.h"
#include "hairpin/link/keys.h"
#include "hairpin/link/memory_link.h"
#include "tests/fixture/runs.h"

namespace hairpin {
namespace {

// Models and keys are made once; each run has a directory of its own.
class Workspace {
 public:
  Workspace() {
    hf::TinyModelOptions llama, qwen2;
    qwen2.model_type = "qwen2";
    qwen2.tied = false;
    qwen2.seed = 2;
    EXPECT_TRUE(hf::write_tiny_model(directory_ / "llama", llama));
    EXPECT_TRUE(hf::write_tiny_model(directory_ / "qwen2", qwen2));
    EXPECT_TRUE(link::make_keys(directory_ / "keys"));
  }
  std::filesystem::path model(const std::string& name) const { return directory_ / name; }
  std::filesystem::path keys() const { return directory_ / "keys"; }
  std::filesystem::path output() { return directory_ / ("run" + std::to_string(++runs_)); }

 private:
  TemporaryDirectory directory_;
  int runs_ = 0;
};

Workspace& workspace() {
  static Workspace instance;
  return instance;
}

struct Case {
  std::string model;
  std::vector<std::int64_t> layers;
  std::int64_t microbatches;
  std::string schedule;
  bool packing;
  bool tls;
};

std::vector<Case> all_cases() {
  const std::vector<std::vector<std::int64_t>> cuts = {{1, 4, 1}, {2, 1, 2, 1}, {1, 1, 0, 2, 1, 1}};
  std::vector<Case> cases;
  for (const auto* model : {"llama", "qwen2"})
    for (const auto& layers : cuts)
      for (const int m : {1, 2, 3, 8})
        for (const auto* schedule : {"gpipe", "hairpin-1f1b", "hairpin-adaptive"})
          for (const bool packing : {false, true})
            for (const bool tls : {false, true})
              cases.push_back({model, layers, m, schedule, packing, tls});
  return cases;
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  const auto& c = info.param;
  std::string name = c.model + "_pp" + std::to_string(c.layers.size() - 1) + "_m" +
                     std::to_string(c.microbatches) + "_" + c.schedule +
                     (c.packing ? "_packed" : "_plain") + (c.tls ? "_tls" : "_memory");
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

struct Pair {
  Outcome whole, split;
};

// The same job in one place and split.
Pair run_pair(const Case& c, std::int64_t microbatch_size, bool split_backward) {
  const auto dataset = random_dataset(20, 40, 331, 5);
  config::Job job = tiny_job(workspace().model(c.model), workspace().output());
  job.train.microbatches = c.microbatches;
  job.train.microbatch_size = microbatch_size;
  job.data.packing = c.packing;
  Pair pair;
  pair.whole = run_whole(job, dataset);

  job.output.directory = workspace().output();
  job.split = config::Split{.layers = c.layers};
  job.schedule.kind = c.schedule;
  job.schedule.split_backward = split_backward;
  pair.split = run_split(job, dataset, c.tls ? tls_pair(workspace().keys()) : memory_pair());
  return pair;
}

class SplitEqualsWhole : public testing::TestWithParam<Case> {};

TEST_P(SplitEqualsWhole, BitForBit) {
  const auto [whole, split] = run_pair(GetParam(), 2, false);
  ASSERT_EQ(whole.losses.size(), 3u);
  EXPECT_NE(whole.losses[0], whole.losses[2]);  // it trains
  EXPECT_EQ(split.losses, whole.losses);
  EXPECT_EQ(split.norms, whole.norms);
  EXPECT_TRUE(split.tensors == whole.tensors);
}

INSTANTIATE_TEST_SUITE_P(Cases, SplitEqualsWhole, testing::ValuesIn(all_cases()), case_name);

// Weight gradients that come later change nothing.
std::vector<Case> split_backward_cases() {
  std::vector<Case> cases;
  for (const auto& c : all_cases())
    if (c.packing && !c.tls && c.model == "qwen2") cases.push_back(c);
  return cases;
}

class SplitBackward : public testing::TestWithParam<Case> {};

TEST_P(SplitBackward, EqualsWholeBitForBit) {
  const auto [whole, split] = run_pair(GetParam(), 1, true);
  EXPECT_TRUE(split == whole);
}

INSTANTIATE_TEST_SUITE_P(Cases, SplitBackward, testing::ValuesIn(split_backward_cases()),
                         case_name);

// The order is chosen while the run goes on, by times that are never the same, and changes nothing.
TEST(Adaptive, OrdersChosenOnTheWayChangeNoBit) {
  const auto dataset = random_dataset(20, 40, 331, 5);
  config::Job job = tiny_job(workspace().model("llama"), workspace().output());
  job.train.steps = 8;
  job.train.microbatches = 6;
  const auto whole = run_whole(job, dataset);

  job.output.directory = workspace().output();
  job.split = config::Split{.layers = {1, 2, 2, 1}};
  link::MemoryLinkOptions slow;
  slow.delay_up = slow.delay_down = std::chrono::milliseconds(8);
  auto pair = link::make_memory_pair(slow);
  const auto split = run_split(job, dataset, {std::move(pair.edge), std::move(pair.cloud)});
  EXPECT_TRUE(split == whole);

  const auto edge = schedules_of(job.output.directory / "edge");
  EXPECT_EQ(edge, schedules_of(job.output.directory / "cloud"));
  ASSERT_GE(edge.size(), 2u);
  EXPECT_FALSE(edge[0].times);
  EXPECT_TRUE(edge[1].times);
  EXPECT_GE(edge[1].times->latency, 8000);
}

}  // namespace
}  // namespace hairpin

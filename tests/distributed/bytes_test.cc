// What a step moves on each axis is what the formulas say, to the byte. They are derived here from
// the model's sizes: T tokens of a microbatch, S of them trained on, h hidden, n ranks, fp32. Bytes
// are those of all ranks of a site together, so that shares need not be even: an all-reduce of E
// elements moves 2 (n - 1) E, an all-gather or a reduce-scatter (n - 1) E.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <utility>

#include "hairpin/hf/tiny_model.h"
#include "hairpin/link/memory_link.h"
#include "tests/fixture/runs.h"
#include "tests/fixture/sites.h"

namespace hairpin {
namespace {

using config::Site;

constexpr std::int64_t kFloat = 4, kDouble = 8;
constexpr std::int64_t kSteps = 3, kMicrobatches = 2;  // per domain

std::int64_t all_gather(std::int64_t ranks, std::int64_t elements) {
  return (ranks - 1) * elements * kFloat;
}
std::int64_t all_reduce(std::int64_t ranks, std::int64_t elements) {
  return 2 * all_gather(ranks, elements);
}

struct Sizes {
  std::int64_t heads = 8, kv_heads = 2;
  bool qwen2 = false;  // biases of q, k and v; a table and a head of their own
  std::int64_t layers = 4, vocab = 331, inner = 144, head = 8;
  std::int64_t hidden() const { return heads * head; }
};

// The layers of a site's pipeline ranks, and whether it has the model's ends: on its first and last
// rank, or both on its only one.
struct Held {
  std::vector<std::int64_t> layers;
  bool ends = true;
  std::int64_t all_layers() const { return std::accumulate(layers.begin(), layers.end(), 0L); }
};

// Lengths of a step's microbatches, over all domains.
struct Step {
  std::vector<std::int64_t> tokens, trained;
};
std::int64_t sum(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), 0L);
}

class Formulas {
 public:
  Formulas(const Sizes& sizes, const Site& site, const Held& held)
      : sizes_(sizes), site_(site), held_(held), n_(site.tensor_parallel) {}

  // A layer's four column and row operators run one all-reduce each in one of the two passes, or
  // with sequence parallelism a reduce-scatter in one and an all-gather in the other; so does the
  // embedding. The head has one for what it is given, and three doubles a token of the loss.
  std::int64_t operators(const Step& step) const {
    const auto h = sizes_.hidden(), T = sum(step.tokens), S = sum(step.trained);
    auto bytes = held_.all_layers() * 4 * all_reduce(n_, T * h);
    if (held_.ends)
      bytes += all_reduce(n_, T * h) + all_reduce(n_, S * h) + n_ * (n_ - 1) * S * 3 * kDouble;
    return bytes;
  }
  // Once a step and replica: gradients that each rank has from its own rows, or its own queries.
  std::int64_t norms() const {
    if (!site_.sequence_parallel) return 0;
    const auto count = 2 * held_.all_layers() + (held_.ends ? 1 : 0);
    return site_.data_parallel * all_reduce(n_, count * sizes_.hidden());
  }
  std::int64_t key_value_copies() const {
    const auto copies = std::max<std::int64_t>(n_ / sizes_.kv_heads, 1);
    const auto columns = sizes_.hidden() + (sizes_.qwen2 ? 1 : 0);
    return site_.data_parallel * held_.all_layers() * (n_ / copies) *
           all_reduce(copies, 2 * sizes_.head * columns);
  }
  std::int64_t tp(const Step& step) const {
    return n_ == 1 ? 0 : operators(step) + norms() + key_value_copies();
  }

  // Gradients of all a rank holds; with ZeRO 1 each half of the all-reduce apart, the second being
  // the gathering of what the step before has updated.
  std::int64_t dp(bool first_step) const {
    std::int64_t elements = 0;
    for (std::int64_t rank = 0; rank < n_; ++rank) elements += parameters(rank);
    const auto ranks = site_.data_parallel;
    return site_.zero == 1 && first_step ? all_gather(ranks, elements)
                                         : all_reduce(ranks, elements);
  }

  // Activations forth, gradients back, at each of the site's own boundaries: from each
  // tensor-parallel rank to its like, all rows or its own. A tied table's gradients once.
  std::int64_t pp(const Step& step) const {
    const auto boundaries = static_cast<std::int64_t>(held_.layers.size()) - 1;
    if (boundaries == 0) return 0;
    const auto copies = site_.sequence_parallel ? 1 : n_;
    auto bytes = boundaries * copies * 2 * sum(step.tokens) * sizes_.hidden() * kFloat;
    if (held_.ends && !sizes_.qwen2)
      bytes += site_.data_parallel * all_reduce(2, sizes_.vocab * sizes_.hidden());
    return bytes;
  }

 private:
  // Of tensor-parallel rank `rank`, over all pipeline ranks, as they lie in buckets.
  std::int64_t parameters(std::int64_t rank) const {
    const auto h = sizes_.hidden(), f = sizes_.inner / n_;
    const auto qkv =
        (sizes_.heads / n_ + 2 * std::max<std::int64_t>(sizes_.kv_heads / n_, 1)) * sizes_.head;
    auto layer = 2 * padded(h) + padded(qkv * h) + padded(h * sizes_.heads / n_ * sizes_.head) +
                 padded(2 * f * h) + padded(h * f);
    if (sizes_.qwen2) layer += padded(qkv);
    auto total = held_.all_layers() * layer;
    if (held_.ends) {
      const auto table = padded((sizes_.vocab / n_ + (rank < sizes_.vocab % n_ ? 1 : 0)) * h);
      const bool one_table = !sizes_.qwen2 && (held_.layers.size() == 1);
      total += (one_table ? 1 : 2) * table + padded(h);
    }
    return total;
  }
  static std::int64_t padded(std::int64_t elements) { return (elements + 15) / 16 * 16; }

  const Sizes sizes_;
  const Site site_;
  const Held held_;
  const std::int64_t n_;
};

// A microbatch is one sample, in the dataset's order.
Step step_of(const samples::Dataset& dataset, std::int64_t step, std::int64_t domains) {
  Step result;
  const auto count = static_cast<std::size_t>(kMicrobatches * domains);
  for (std::size_t i = 0; i < count; ++i) {
    const auto& sample = dataset.samples.at(static_cast<std::size_t>(step) * count + i);
    result.tokens.push_back(static_cast<std::int64_t>(sample.tokens.size()));
    result.trained.push_back(std::count(sample.trained.begin(), sample.trained.end(), true));
  }
  return result;
}

class BytesMoved : public testing::Test {
 protected:
  config::Job job(const Sizes& sizes) {
    const auto model = directory_ / ("model" + std::to_string(++runs_));
    EXPECT_TRUE(hf::write_tiny_model(model, {.model_type = sizes.qwen2 ? "qwen2" : "llama",
                                             .layers = sizes.layers,
                                             .hidden = sizes.hidden(),
                                             .intermediate = sizes.inner,
                                             .heads = sizes.heads,
                                             .kv_heads = sizes.kv_heads,
                                             .vocab = sizes.vocab,
                                             .tied = !sizes.qwen2}));
    auto job = tiny_job(model, directory_ / ("run" + std::to_string(runs_)));
    job.train.steps = kSteps;
    job.train.microbatches = kMicrobatches;
    job.data.packing = job.data.shuffle = false;
    return job;
  }

  void expect_formulas(const std::vector<StepLine>& lines, const Formulas& want,
                       std::int64_t domains, const std::string& name) {
    ASSERT_EQ(lines.size(), static_cast<std::size_t>(kSteps)) << name;
    for (std::int64_t i = 0; i < kSteps; ++i) {
      const auto& line = lines[static_cast<std::size_t>(i)];
      const auto step = step_of(dataset_, i, domains);
      EXPECT_EQ(line.tp_bytes, static_cast<std::uint64_t>(want.tp(step))) << name << " " << i;
      EXPECT_EQ(line.dp_bytes, static_cast<std::uint64_t>(want.dp(i == 0))) << name << " " << i;
      EXPECT_EQ(line.pp_bytes, static_cast<std::uint64_t>(want.pp(step))) << name << " " << i;
    }
  }

  std::vector<StepLine> run(const Sizes& sizes, const Site& site) {
    auto one_site = job(sizes);
    one_site.site = site;
    run_whole(one_site, dataset_);
    return metrics_of(one_site.output.directory);
  }
  void check(const std::string& name, const Sizes& sizes, const Site& site) {
    const auto layers = site.pipeline.value_or(std::vector<std::int64_t>{sizes.layers});
    expect_formulas(run(sizes, site), Formulas(sizes, site, {layers}), site.data_parallel, name);
  }

  const samples::Dataset dataset_ = random_dataset(kSteps * kMicrobatches * 4, 40, 331, 7);
  TemporaryDirectory directory_;
  int runs_ = 0;
};

TEST_F(BytesMoved, OfReplicasAreTwiceTheParametersForEachButOne) {
  for (const std::int64_t replicas : {2, 3, 4})
    for (const bool sharded : {false, true})
      for (const bool qwen2 : {false, true}) {
        const auto site = sharded ? zero(dp(replicas)) : dp(replicas);
        check("dp" + std::to_string(replicas) + (sharded ? " zero1" : ""), {.qwen2 = qwen2}, site);
      }
  check("no overlap", {}, no_overlap(zero(dp(3))));
  // 9 heads: the norms and the table have gaps behind them, which are moved, too.
  check("gaps", {.heads = 9, .kv_heads = 3, .qwen2 = true}, zero(dp(2)));
}

TEST_F(BytesMoved, OfTensorParallelRanksAreFourAllReducesALayerAndTheEndsOwn) {
  for (const bool sequence : {false, true})
    for (const bool qwen2 : {false, true}) {
      check("tp2", {.qwen2 = qwen2}, tp(2, sequence));
      check("tp3", {.heads = 9, .kv_heads = 3, .qwen2 = qwen2}, tp(3, sequence));
      check("tp4, two copies", {.qwen2 = qwen2}, tp(4, sequence));
      check("tp4, four copies", {.kv_heads = 1, .qwen2 = qwen2}, tp(4, sequence));
      check("tp4, none", {.kv_heads = 4, .qwen2 = qwen2}, tp(4, sequence));
    }
}

// Operators move as much with sequence parallelism as without. What it adds is the sum of the
// norms' gradients, once a step whatever its length: less than one token more would cost.
TEST_F(BytesMoved, OfSequenceParallelismAreTensorParallelisms) {
  for (const std::int64_t ranks : {2, 3, 4}) {
    const Sizes sizes{.heads = 12, .kv_heads = ranks == 3 ? 3 : 2};
    const auto plain = run(sizes, tp(ranks)), sequence = run(sizes, tp(ranks, true));
    const Formulas formulas(sizes, tp(ranks, true), {{sizes.layers}});
    const auto norms = static_cast<std::uint64_t>(formulas.norms());
    const auto one_token = static_cast<std::uint64_t>(formulas.operators({{1}, {0}}));
    for (std::size_t i = 0; i < plain.size(); ++i)
      EXPECT_EQ(sequence.at(i).tp_bytes - norms, plain[i].tp_bytes) << ranks << " ranks";
    EXPECT_LT(norms, one_token);
  }
}

TEST_F(BytesMoved, OfPipelineRanksAreActivationsGradientsAndATiedTable) {
  for (const bool qwen2 : {false, true}) {
    check("pp2", {.qwen2 = qwen2}, pp({1, 3}));
    check("pp4", {.qwen2 = qwen2}, pp({2, 1, 1, 0}));
    check("pp2 dp2", {.qwen2 = qwen2}, dp(2, pp({1, 3})));
    check("pp2 tp2", {.qwen2 = qwen2}, pp({1, 3}, tp(2)));
    check("pp2 tp2 sp", {.qwen2 = qwen2}, pp({1, 3}, tp(2, true)));
  }
}

TEST_F(BytesMoved, OfAllAxesTogetherAddUp) {
  check("tp2 dp2", {}, dp(2, tp(2)));
  check("tp4 dp2 sp", {.qwen2 = true}, dp(2, tp(4, true)));
  check("tp2 dp2 pp2 sp zero1", {}, zero(dp(2, pp({1, 3}, tp(2, true)))));
}

// Frames by direction and domain; manifests and scalars belong to all domains.
struct LinkBytes {
  std::map<std::pair<std::string, int>, std::uint64_t> frames;
  std::mutex mutex;
  link::SentObserver observer(const std::string& direction) {
    return [this, direction](const wire::Message& message, std::uint64_t bytes) {
      const auto* tensor = std::get_if<wire::TensorMessage>(&message);
      const auto name = wire::message_name(message);
      const std::lock_guard lock(mutex);
      if (tensor != nullptr)
        frames[{direction + " tensors", tensor->domain}] += bytes;
      else if (name == "manifest" || name == "scalars")
        frames[{direction + " " + std::string(name), 0}] += bytes;
    };
  }
};

class BytesOnTheLink : public BytesMoved {
 protected:
  auto frames_of(const Site& edge, const Site& cloud) {
    const Sizes sizes;
    auto split = job(sizes);
    set_split(split, {1, 1, 1, 1}, edge, cloud);
    LinkBytes seen;
    {
      auto pair = link::make_memory_pair(
          {.edge_sent = seen.observer("up"), .cloud_sent = seen.observer("down")});
      run_split(split, dataset_, {std::move(pair.edge), std::move(pair.cloud)});
    }
    const auto domains = cloud.data_parallel;
    expect_formulas(metrics_of(split.output.directory / "edge"),
                    Formulas(sizes, edge, {.layers = {2}}), domains, "edge");
    expect_formulas(metrics_of(split.output.directory / "cloud"),
                    Formulas(sizes, cloud, {.layers = {1, 1}, .ends = false}), domains, "cloud");
    return seen.frames;
  }
};

TEST_F(BytesOnTheLink, OfADomainDoNotDependOnTensorParallelism) {
  constexpr std::int64_t kHeader = 32, kTensorFields = 24;  // docs/protocol.md
  for (const std::int64_t domains : {1, 2}) {
    const auto want = frames_of({}, dp(domains));
    for (std::int64_t domain = 0; domain < domains; ++domain) {
      // The activation and the gradient of each microbatch of the domain, one copy of each.
      std::int64_t bytes = 0;
      for (std::int64_t i = 0; i < kSteps; ++i) {
        const auto step = step_of(dataset_, i, domains);
        for (auto j = static_cast<std::size_t>(domain); j < step.tokens.size();
             j += static_cast<std::size_t>(domains))
          bytes += 2 * (kHeader + kTensorFields + step.tokens[j] * Sizes{}.hidden() * kFloat);
      }
      for (const auto* direction : {"up tensors", "down tensors"})
        EXPECT_EQ(want.at({direction, static_cast<int>(domain)}),
                  static_cast<std::uint64_t>(bytes));
    }
    for (const auto& [edge, cloud] :
         {std::pair{tp(2), tp(1)}, std::pair{tp(1), tp(2)}, std::pair{tp(1), tp(4)},
          std::pair{tp(4), tp(2)}, std::pair{tp(2, true), tp(1)}, std::pair{tp(1), tp(4, true)},
          std::pair{tp(2, true), tp(4, true)}, std::pair{tp(4, true), tp(4)}}) {
      EXPECT_EQ(frames_of(edge, dp(domains, cloud)), want)
          << edge.tensor_parallel << edge.sequence_parallel << cloud.tensor_parallel
          << cloud.sequence_parallel << " in " << domains << " domains";
    }
  }
}

}  // namespace
}  // namespace hairpin

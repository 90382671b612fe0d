// A step's arithmetic, end to end, is that of one rank on any layout: what weighs alike in the
// loss, the one global gradient norm and clipping by it, what is masked and what is not finite.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "hairpin/base/dtype.h"
#include "hairpin/hf/tiny_model.h"
#include "hairpin/safetensors/model_files.h"
#include "hairpin/safetensors/model_writer.h"
#include "hairpin/tensor/convert.h"
#include "tests/fixture/runs.h"
#include "tests/fixture/sites.h"

namespace hairpin {
namespace {

using config::Loss;
using config::NormType;
using testing::ElementsAre;

struct Layout {
  std::string name;
  std::function<void(config::Job&)> set;
  std::int64_t domains = 1;
};
Layout one_site(std::string name, config::Site site) {
  return {std::move(name), [site](config::Job& job) { job.site = site; }, site.data_parallel};
}
Layout split(std::string name, config::Site edge, config::Site cloud) {
  return {std::move(name),
          [edge, cloud](config::Job& job) { set_split(job, {1, 2, 2, 1}, edge, cloud); },
          cloud.data_parallel};
}
Layout one_rank() { return one_site("one rank", {}); }
Layout both_replicated() { return split("edge dp2, cloud dp2", dp(2), dp(2)); }
Layout both_divided() { return split("edge tp2 sp, cloud tp2 sp", tp(2, true), tp(2, true)); }

// An exported or a model file's fp32 tensor in double.
Tensor in_double(ByteSpan bytes) {
  Tensor values =
      empty_fp32(std::vector<std::int64_t>{static_cast<std::int64_t>(bytes.size() / 4)});
  copy_from_bytes(values, bytes, DType::f32);
  return values.to(at::kDouble);
}
Tensor exported(const Outcome& outcome, const std::string& name) {
  const std::string_view text = outcome.tensors.at(name);
  return in_double(as_byte_span(text.substr(text.find('\n') + 1)));
}

class Arithmetic : public testing::Test {
 protected:
  Arithmetic() {
    EXPECT_TRUE(hf::write_tiny_model(model_, options()));
    EXPECT_TRUE(hf::write_tiny_model(directory_ / "clean", options()));
  }
  static hf::TinyModelOptions options() {
    return {.hidden = 64, .intermediate = 144, .heads = 8, .tied = false};
  }

  // `microbatches` over all domains.
  config::Job job(const Layout& layout, std::int64_t microbatches) {
    auto job = tiny_job(model_, directory_ / ("run" + std::to_string(++runs_)));
    job.train.microbatches = microbatches / layout.domains;
    layout.set(job);
    return job;
  }
  static Outcome run(const config::Job& job, const samples::Dataset& dataset) {
    return job.split ? run_split(job, dataset, memory_pair()) : run_whole(job, dataset);
  }
  // What the edge, or the one site, wrote; and what all sites did.
  static std::filesystem::path leading_site(const config::Job& job) {
    return job.split ? job.output.directory / "edge" : job.output.directory;
  }
  static std::vector<std::vector<StepLine>> metrics(const config::Job& job) {
    std::vector<std::vector<StepLine>> sites{metrics_of(leading_site(job))};
    if (job.split) sites.push_back(metrics_of(job.output.directory / "cloud"));
    return sites;
  }

  TemporaryDirectory directory_;
  const std::filesystem::path model_ = directory_ / "model";
  int runs_ = 0;
};

void expect_close(const Outcome& got, const Outcome& want, const std::string& name) {
  ASSERT_EQ(got.losses.size(), want.losses.size()) << name;
  for (std::size_t i = 0; i < want.losses.size(); ++i) {
    EXPECT_NEAR(got.losses[i], want.losses[i], 1e-5 * want.losses[i]) << name << " " << i;
    EXPECT_NEAR(got.norms[i], want.norms[i], 1e-5 * want.norms[i]) << name << " " << i;
  }
  ASSERT_EQ(got.tensors.size(), want.tensors.size()) << name;
  for (const auto& [tensor, bytes] : want.tensors) {
    const Tensor reference = exported(want, tensor);
    EXPECT_LE((exported(got, tensor) - reference).norm().item<double>(),
              1e-5 * reference.norm().item<double>())
        << name << " " << tensor;
  }
}

// Samples packed to microbatches of many lengths: no two of the three weigh alike.
TEST_F(Arithmetic, WeighsTokensSamplesAndMicrobatchesAsOneRankDoes) {
  const auto dataset = random_dataset(60, 30, 331, 5);
  std::vector<Outcome> of_one_rank;
  for (const auto loss : {Loss::per_token, Loss::per_sample, Loss::per_microbatch}) {
    const auto run_with = [&](const Layout& layout) {
      auto weighed = job(layout, 4);
      weighed.train.loss = loss;
      weighed.optimizer.kind = "sgd";
      weighed.optimizer.learning_rate = 0.3;
      return run(weighed, dataset);
    };
    of_one_rank.push_back(run_with(one_rank()));
    const auto& want = of_one_rank.back();
    for (const auto& layout :
         {both_replicated(), both_divided(), one_site("dp4 zero1", zero(dp(4))),
          split("edge dp1, cloud tp2 dp4 zero1", {}, zero(dp(4, tp(2))))})
      expect_close(run_with(layout), want, layout.name + " " + std::string(word_of(loss)));
  }
  for (std::size_t i = 0; i < 3; ++i) {
    const double one = of_one_rank[i].losses[0], other = of_one_rank[(i + 1) % 3].losses[0];
    EXPECT_GT(std::abs(one - other), 1e-4 * one);
  }
}

double norm_of(const std::vector<Tensor>& gradients, NormType type) {
  double sum = 0, most = 0;
  for (const auto& gradient : gradients) {
    const Tensor absolute = gradient.abs();
    sum += (type == NormType::one ? absolute : absolute * absolute).sum().item<double>();
    most = std::max(most, absolute.max().item<double>());
  }
  return type == NormType::infinity ? most : type == NormType::one ? sum : std::sqrt(sum);
}

// The gradient, or what clipping has left of it, is what plain SGD subtracts. At a rate so high
// that nothing of it is lost in rounding; and no second step.
constexpr double kRate = 1e6;

class Norms : public Arithmetic {
 protected:
  struct Step {
    double norm = 0;  // as reported
    std::vector<Tensor> update;
  };
  Step step(const Layout& layout, NormType type, std::optional<double> clip, bool tied) {
    auto one_step = job(layout, 4);
    auto changed = options();
    changed.tied = tied;
    one_step.model.path = directory_ / (tied ? "tied" : "model");
    if (!std::filesystem::exists(one_step.model.path)) {
      EXPECT_TRUE(hf::write_tiny_model(one_step.model.path, changed));
    }
    one_step.train.steps = 1;
    one_step.optimizer = {.kind = "sgd",
                          .learning_rate = kRate,
                          .decay = "constant",
                          .clip_norm = clip,
                          .norm_type = type};
    const auto outcome = run(one_step, dataset_);
    if (outcome.norms.size() != 1) return {};
    const auto before = safetensors::open_model(one_step.model.path).value();
    Step result{.norm = outcome.norms[0]};
    for (const auto& [name, bytes] : outcome.tensors)
      result.update.push_back((in_double(before.find(name)->bytes) - exported(outcome, name)) /
                              kRate);
    return result;
  }
  const samples::Dataset dataset_ = random_dataset(20, 30, 331, 5);
};

constexpr NormType kAllNorms[] = {NormType::one, NormType::two, NormType::infinity};

TEST_F(Norms, OfOneRankAreThoseOfItsGradients) {
  for (const bool tied : {false, true})
    for (const auto type : kAllNorms) {
      const auto plain = step(one_rank(), type, std::nullopt, tied);
      const double want = norm_of(plain.update, type);
      EXPECT_NEAR(plain.norm, want, 1e-5 * want) << word_of(type);
      const double clip = want / 3;
      const auto clipped = step(one_rank(), type, clip, tied);
      EXPECT_EQ(clipped.norm, plain.norm);  // reported is the norm before clipping
      EXPECT_NEAR(norm_of(clipped.update, type), clip, 1e-5 * clip) << word_of(type);
    }
}

TEST_F(Norms, OfEveryLayoutAreThoseOfOneRankAndClipAlike) {
  for (const bool tied : {false, true})
    for (const auto type : kAllNorms) {
      const double clip = step(one_rank(), type, std::nullopt, tied).norm / 3;
      const auto want = step(one_rank(), type, clip, tied);
      for (const auto& layout :
           {one_site("tp2", tp(2)), one_site("tp4 sp, two K/V copies", tp(4, true)),
            one_site("dp2", dp(2)), one_site("dp4 zero1", zero(dp(4))), one_site("pp2", pp({2, 4})),
            one_site("tp2 dp2 pp2 sp zero1", zero(dp(2, pp({2, 4}, tp(2, true))))),
            both_replicated(), both_divided(),
            split("edge tp4 sp, cloud tp2 dp2 zero1", tp(4, true), zero(dp(2, tp(2))))}) {
        const auto name = layout.name + " " + std::string(word_of(type));
        const auto got = step(layout, type, clip, tied);
        EXPECT_NEAR(got.norm, want.norm, 1e-5 * want.norm) << name;
        EXPECT_NEAR(norm_of(got.update, type), clip, 1e-5 * clip) << name;
      }
    }
}

// Each sample is a microbatch, in the dataset's order.
class Masked : public Arithmetic {
 protected:
  config::Job in_order(const Layout& layout, std::int64_t microbatches) {
    auto ordered = job(layout, microbatches);
    ordered.data.packing = ordered.data.shuffle = false;
    ordered.optimizer.decay = "constant";
    ordered.optimizer.warmup_steps = 0;
    return ordered;
  }
  static samples::Sample masked(samples::Sample sample) {
    sample.trained.assign(sample.trained.size(), false);
    return sample;
  }
  const samples::Dataset dataset_ = random_dataset(12, 30, 331, 5);
};

TEST_F(Masked, AMicrobatchContributesNothing) {
  samples::Dataset with;
  for (std::size_t i = 0; i < 9; ++i) {
    with.samples.push_back(dataset_.samples[i]);
    if (i % 3 == 1) with.samples.push_back(masked(dataset_.samples[9 + i / 3]));
  }
  for (const auto loss : {Loss::per_token, Loss::per_sample, Loss::per_microbatch}) {
    auto without = in_order(one_rank(), 3);
    without.train.loss = loss;
    const Outcome want = run(without, dataset_);
    auto same = in_order(one_rank(), 4);
    same.train.loss = loss;
    EXPECT_TRUE(run(same, with) == want) << word_of(loss);
    for (const auto& layout : {both_replicated(), both_divided()}) {
      auto sgd = in_order(one_rank(), 3), other = in_order(layout, 4);
      for (auto* changed : {&sgd, &other}) {
        changed->train.loss = loss;
        changed->optimizer.kind = "sgd";
        changed->optimizer.learning_rate = 0.3;
      }
      expect_close(run(other, with), run(sgd, dataset_), layout.name);
    }
  }
}

// Layouts whose sites have states to lose: momenta, and with ZeRO shares of them.
std::vector<Layout> stateful_layouts() {
  return {one_rank(), one_site("dp2 zero1", zero(dp(2))), both_replicated(), both_divided(),
          split("edge dp2 zero1, cloud tp2 dp2", zero(dp(2)), dp(2, tp(2)))};
}

// Steps 1 and 3 of the one run are steps 1 and 2 of the other, bit for bit.
TEST_F(Masked, AStepIsSkippedByAllAndLeavesNoTrace) {
  samples::Dataset with = dataset_;
  for (std::size_t i = 4; i < 8; ++i) with.samples[i] = masked(with.samples[i]);
  samples::Dataset without = dataset_;
  without.samples.erase(without.samples.begin() + 4, without.samples.begin() + 8);
  for (const auto& layout : stateful_layouts()) {
    const auto three = in_order(layout, 4);
    auto two = in_order(layout, 4);
    two.train.steps = 2;
    const Outcome got = run(three, with), want = run(two, without);
    ASSERT_EQ(got.losses.size(), 3u) << layout.name;
    ASSERT_EQ(want.losses.size(), 2u) << layout.name;
    EXPECT_EQ(got.losses[0], want.losses[0]) << layout.name;
    EXPECT_EQ(got.losses[2], want.losses[1]) << layout.name;
    EXPECT_EQ(got.norms[2], want.norms[1]) << layout.name;
    EXPECT_TRUE(got.tensors == want.tensors) << layout.name;
    for (const auto& lines : metrics(three)) {
      ASSERT_EQ(lines.size(), 3u);
      EXPECT_EQ(lines[0].skipped, "");
      EXPECT_EQ(lines[1].skipped, "no trained tokens");
      EXPECT_EQ(lines[1].trained_tokens, 0);
      EXPECT_GT(lines[1].tokens, 0);
      EXPECT_EQ(lines[1].loss, std::nullopt);
      EXPECT_EQ(lines[1].grad_norm, 0.0);
      EXPECT_EQ(lines[2].skipped, "");
    }
  }
}

// As Masked, with a model of which one number is not finite.
class NotFinite : public Masked {
 protected:
  // The tensor's element `index` becomes `value`.
  void spoil(const std::string& name, std::size_t index, float value) {
    const auto clean = safetensors::open_model(directory_ / "clean").value();
    std::filesystem::remove(model_ / safetensors::kSingleFile);
    Bytes changed;
    std::vector<safetensors::Source> sources;
    for (const auto& [key, tensor] : clean.tensors())
      sources.push_back({tensor.info, [&, spoilt = key == name]() -> Result<ByteSpan> {
                           if (!spoilt) return tensor.bytes;
                           changed.assign(tensor.bytes.begin(), tensor.bytes.end());
                           std::memcpy(changed.data() + index * sizeof value, &value, sizeof value);
                           return ByteSpan(changed);
                         }});
    EXPECT_TRUE(safetensors::write_model(model_, std::move(sources)));
  }
  static std::vector<std::string> skipped(const std::vector<StepLine>& lines) {
    std::vector<std::string> reasons;
    for (const auto& line : lines) reasons.push_back(line.skipped);
    return reasons;
  }
};

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The row of a word in the table is on one tensor-parallel rank of the edge, and only one replica
// reads it; the layer's number is on one rank of the cloud.
constexpr std::int32_t kSpoiltWord = 330;
constexpr std::size_t kSpoiltRow = static_cast<std::size_t>(kSpoiltWord) * 64;

samples::Dataset with_word(samples::Dataset dataset, std::size_t sample) {
  for (auto& each : dataset.samples)
    for (auto& token : each.tokens) token = std::min(token, kSpoiltWord - 1);
  dataset.samples[sample].tokens[0] = kSpoiltWord;
  return dataset;
}

TEST_F(NotFinite, AStepStopsBothSitesWithOneSentence) {
  constexpr const char* kSentence =
      "step 2: the gradient norm is not finite; lower optimizer.learning_rate, set "
      "optimizer.clip_norm, or skip such steps with train.on_nonfinite = \"skip\"";
  const auto dataset = with_word(dataset_, 5);
  for (const float value : {kNaN, kInfinity}) {
    spoil("model.embed_tokens.weight", kSpoiltRow + 3, value);
    for (const auto& layout : stateful_layouts()) {
      const auto stopped = in_order(layout, 4);
      std::vector<Result<void>> ends;
      if (stopped.split) {
        auto end = try_split(stopped, dataset, memory_pair());
        ends = {std::move(end.edge), std::move(end.cloud)};
      } else {
        ends = {try_whole(stopped, dataset)};
      }
      for (const auto& end : ends) {
        ASSERT_FALSE(end) << layout.name;
        EXPECT_EQ(end.error().kind, ErrorKind::internal) << layout.name;
        EXPECT_EQ(end.error().message, kSentence) << layout.name;
      }
      for (const auto& lines : metrics(stopped)) EXPECT_EQ(lines.size(), 1u) << layout.name;
      EXPECT_FALSE(std::filesystem::exists(leading_site(stopped) / "export"));
    }
  }
}

TEST_F(NotFinite, AStepIsSkippedByAllAndLeavesNoTrace) {
  spoil("model.embed_tokens.weight", kSpoiltRow + 3, kNaN);
  const auto with = with_word(dataset_, 5);
  samples::Dataset without = with;
  without.samples.erase(without.samples.begin() + 4, without.samples.begin() + 8);
  for (const auto& layout : stateful_layouts()) {
    auto three = in_order(layout, 4), two = in_order(layout, 4);
    three.train.on_nonfinite = two.train.on_nonfinite = config::OnNonfinite::skip;
    two.train.steps = 2;
    const Outcome got = run(three, with), want = run(two, without);
    EXPECT_TRUE(got.tensors == want.tensors) << layout.name;
    for (const auto& lines : metrics(three)) {
      EXPECT_THAT(skipped(lines), ElementsAre("", "gradient not finite", "")) << layout.name;
      EXPECT_EQ(lines.at(1).grad_norm, std::nullopt);
    }
    for (const auto& lines : metrics(two)) EXPECT_THAT(skipped(lines), ElementsAre("", ""));
  }
}

// Every step has it, so nothing is trained and the export is the model.
TEST_F(NotFinite, ANumberOfTheCloudsSkipsEveryStepOnBothSites) {
  spoil("model.layers.2.mlp.down_proj.weight", 5, kNaN);
  const auto before = safetensors::open_model(model_).value();
  for (const auto& layout :
       {both_replicated(), both_divided(), split("edge tp2, cloud tp4 dp2", tp(2), dp(2, tp(4)))}) {
    auto skipping = in_order(layout, 4);
    skipping.train.on_nonfinite = config::OnNonfinite::skip;
    const Outcome outcome = run(skipping, dataset_);
    for (const auto& lines : metrics(skipping))
      EXPECT_THAT(skipped(lines),
                  testing::AllOf(testing::SizeIs(3), testing::Each("gradient not finite")))
          << layout.name;
    for (const auto& [name, text] : outcome.tensors)
      EXPECT_EQ(text.substr(text.find('\n') + 1), as_text(before.find(name)->bytes)) << name;
  }
}

}  // namespace
}  // namespace hairpin

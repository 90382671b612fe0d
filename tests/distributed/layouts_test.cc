// Any layout trains as one rank does: five steps of tiny Llama and Qwen2 models with tensor,
// sequence, data and pipeline parallelism and ZeRO, on one site and on two unequal ones. The losses
// agree within 1e-5, weights trained with SGD within 1e-5 a tensor, and the changes that AdamW
// makes within 1e-3; where no order of addition differs, bit for bit.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>

#include "hairpin/base/dtype.h"
#include "hairpin/hf/tiny_model.h"
#include "hairpin/safetensors/model_files.h"
#include "hairpin/tensor/convert.h"
#include "tests/fixture/runs.h"
#include "tests/fixture/sites.h"

namespace hairpin {
namespace {

constexpr std::int64_t kGlobalMicrobatches = 8;

struct Layout {
  std::string name;
  std::int64_t heads, kv_heads;
  std::function<void(config::Job&)> set;
  std::int64_t domains = 1;
  bool exact = false;  // bit for bit
};

using Site = config::Site;

Layout one_site(std::string name, std::int64_t heads, std::int64_t kv_heads, Site site,
                bool exact = false) {
  const auto domains = site.data_parallel;
  return {std::move(name), heads, kv_heads, [site](config::Job& job) { job.site = site; },
          domains,         exact};
}

Layout split(std::string name, std::int64_t heads, std::int64_t kv_heads, Site edge, Site cloud) {
  const auto domains = cloud.data_parallel;
  return {std::move(name), heads, kv_heads,
          [edge, cloud](config::Job& job) { set_split(job, {1, 2, 2, 1}, edge, cloud); }, domains};
}

Layout with_schedule(const std::string& kind, Layout layout, bool split_backward = false) {
  layout.set = [set = layout.set, kind, split_backward](config::Job& job) {
    set(job);
    job.schedule.kind = kind;
    job.schedule.split_backward = split_backward;
  };
  return layout;
}

std::vector<Layout> layouts() {
  std::vector<Layout> all = {
      one_site("tp2", 8, 2, tp(2)),
      one_site("tp3", 9, 3, tp(3)),
      one_site("tp4_kv2", 8, 2, tp(4)),
      one_site("tp4_kv1", 8, 1, tp(4)),
      one_site("tp2_sp", 8, 2, tp(2, true)),
      one_site("tp4_kv2_sp", 8, 2, tp(4, true)),
      one_site("dp2", 8, 2, dp(2)),
      one_site("dp4", 8, 2, dp(4)),
      one_site("dp2_zero1", 8, 2, zero(dp(2))),
      one_site("dp4_zero1", 8, 2, zero(dp(4))),
      one_site("dp4_zero1_no_overlap", 8, 2, no_overlap(zero(dp(4)))),
      one_site("pp4", 8, 2, pp({2, 1, 1, 2}), true),
      with_schedule("gpipe", one_site("pp4_gpipe", 8, 2, pp({2, 1, 1, 2}), true)),
      with_schedule("1f1b", one_site("pp4_split_backward", 8, 2, pp({2, 1, 1, 2}), true), true),
      with_schedule("zb-h1",
                    one_site("tp2_dp2_pp2_sp_zb_h1", 8, 2, dp(2, pp({2, 4}, tp(2, true))))),
      with_schedule("gpipe", one_site("tp2_dp2_pp2_sp_zero1_gpipe", 8, 2,
                                      zero(dp(2, pp({2, 4}, tp(2, true)))))),
      one_site("tp2_dp2_pp2_sp_zero1", 8, 2, zero(dp(2, pp({2, 4}, tp(2, true))))),
  };
  for (const auto& [edge, cloud] : {std::pair{1, 2}, {1, 4}, {2, 4}, {4, 2}, {2, 1}})
    for (const bool edge_sp : {false, true})
      for (const bool cloud_sp : {false, true}) {
        if ((edge_sp && edge == 1) || (cloud_sp && cloud == 1)) continue;
        all.push_back(split("edge_tp" + std::to_string(edge) + (edge_sp ? "sp" : "") + "_cloud_tp" +
                                std::to_string(cloud) + (cloud_sp ? "sp" : ""),
                            8, 2, tp(edge, edge_sp), tp(cloud, cloud_sp)));
      }
  for (const auto& [edge, cloud] : {std::pair{1, 2}, {1, 4}, {2, 4}, {2, 1}, {2, 2}, {4, 2}})
    all.push_back(split("edge_dp" + std::to_string(edge) + "_cloud_dp" + std::to_string(cloud), 8,
                        2, dp(edge), dp(cloud)));
  for (const bool sp : {false, true}) {
    const std::string suffix = sp ? "_sp" : "";
    all.push_back(split("edge_tp2_dp1_cloud_tp4_dp2" + suffix, 8, 2, tp(2, sp), dp(2, tp(4, sp))));
    all.push_back(
        split("edge_tp1_dp2_cloud_tp2_dp4" + suffix, 8, 2, dp(2), zero(dp(4, tp(2, sp)))));
  }
  all.push_back(with_schedule("hairpin-1f1b",
                              split("edge_tp2sp_cloud_tp2sp_dp2_split_backward", 8, 2, tp(2, true),
                                    zero(dp(2, tp(2, true)))),
                              true));
  all.push_back(with_schedule("gpipe", split("edge_dp3_cloud_dp2_gpipe", 8, 2, dp(3), dp(2))));
  // Both sites choose the order of ops, of all domains and replicas, after the second step.
  const auto adaptive = "hairpin-adaptive";
  all.push_back(with_schedule(adaptive, split("edge_dp1_cloud_dp4_adaptive", 8, 2, dp(1), dp(4))));
  all.push_back(
      with_schedule(adaptive, split("edge_dp3_cloud_dp2_adaptive", 8, 2, dp(3), dp(2)), true));
  all.push_back(with_schedule(adaptive, split("edge_tp2sp_dp2_cloud_tp4sp_dp2_adaptive", 8, 2,
                                              dp(2, tp(2, true)), dp(2, tp(4, true)))));
  all.push_back(split("edge_tp2sp_dp1_cloud_tp4_dp2", 8, 2, tp(2, true), dp(2, tp(4))));
  all.push_back(split("edge_tp2_dp3_zero1_cloud_tp1_dp2", 8, 2, zero(dp(3, tp(2))), dp(2)));
  return all;
}

struct Case {
  Layout layout;
  std::string model_type;
  std::string optimizer;
};

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const auto& layout : layouts())
    for (const auto* model : {"llama", "qwen2"})
      for (const auto* optimizer : {"sgd", "adamw"}) cases.push_back({layout, model, optimizer});
  return cases;
}

std::string case_name(const testing::TestParamInfo<Case>& info) {
  return info.param.layout.name + "_" + info.param.model_type + "_" + info.param.optimizer;
}

// Models and the one-rank runs are made once.
class Workspace {
 public:
  std::filesystem::path model(const Case& c) {
    const auto path = directory_ / (c.model_type + std::to_string(c.layout.heads) + "x" +
                                    std::to_string(c.layout.kv_heads));
    if (!std::filesystem::exists(path)) {
      hf::TinyModelOptions options;
      options.model_type = c.model_type;
      options.heads = c.layout.heads;
      options.kv_heads = c.layout.kv_heads;
      options.hidden = 8 * c.layout.heads;
      options.intermediate = 144;
      options.tied = c.model_type == "llama";
      EXPECT_TRUE(hf::write_tiny_model(path, options));
    }
    return path;
  }
  std::filesystem::path output() { return directory_ / ("run" + std::to_string(++runs_)); }

  config::Job job(const Case& c) {
    config::Job job = tiny_job(model(c), output());
    job.train.steps = 5;
    job.optimizer.kind = c.optimizer;
    job.optimizer.learning_rate = c.optimizer == "sgd" ? 0.3 : 1e-2;
    return job;
  }
  const Outcome& reference(const Case& c) {
    auto& outcome = references_[model(c).filename().string() + c.optimizer];
    if (outcome.losses.empty()) {
      auto one_rank = job(c);
      one_rank.train.microbatches = kGlobalMicrobatches;
      outcome = run_whole(one_rank, dataset());
    }
    return outcome;
  }
  const samples::Dataset& dataset() const { return dataset_; }

 private:
  TemporaryDirectory directory_;
  int runs_ = 0;
  const samples::Dataset dataset_ = random_dataset(60, 40, 331, 5);
  std::map<std::string, Outcome> references_;
};

Workspace& workspace() {
  static Workspace instance;
  return instance;
}

// An exported fp32 tensor, flat, in double.
Tensor values_of(const std::string& exported) {
  const std::string_view bytes = std::string_view(exported).substr(exported.find('\n') + 1);
  Tensor values =
      empty_fp32(std::vector<std::int64_t>{static_cast<std::int64_t>(bytes.size() / 4)});
  copy_from_bytes(values, as_byte_span(bytes), DType::f32);
  return values.to(at::kDouble);
}

double relative(const Tensor& difference, const Tensor& reference) {
  return difference.norm().item<double>() / reference.norm().item<double>();
}

class Layouts : public testing::TestWithParam<Case> {};

TEST_P(Layouts, TrainAsOneRankDoes) {
  const auto& c = GetParam();
  const Outcome& want = workspace().reference(c);
  auto job = workspace().job(c);
  job.train.microbatches = kGlobalMicrobatches / c.layout.domains;
  c.layout.set(job);
  const Outcome got = job.split ? run_split(job, workspace().dataset(), memory_pair())
                                : run_whole(job, workspace().dataset());

  ASSERT_EQ(got.losses.size(), want.losses.size());
  if (c.layout.exact) {
    EXPECT_TRUE(got == want);
    return;
  }
  for (std::size_t i = 0; i < want.losses.size(); ++i) {
    EXPECT_NEAR(got.losses[i], want.losses[i], 1e-5 * want.losses[i]) << "step " << i + 1;
    EXPECT_NEAR(got.norms[i], want.norms[i], 1e-4 * want.norms[i]) << "step " << i + 1;
  }
  const auto before = safetensors::open_model(job.model.path);
  ASSERT_EQ(got.tensors.size(), want.tensors.size());
  for (const auto& [name, exported] : want.tensors) {
    const Tensor reference = values_of(exported), value = values_of(got.tensors.at(name));
    if (c.optimizer == "sgd") {
      EXPECT_LE(relative(value - reference, reference), 1e-5) << name;
    } else {
      Tensor initial = at::empty(reference.sizes(), at::kFloat);
      copy_from_bytes(initial, before->find(name)->bytes, DType::f32);
      EXPECT_LE(relative(value - reference, reference - initial), 1e-3) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Layouts, testing::ValuesIn(all_cases()), case_name);

}  // namespace
}  // namespace hairpin

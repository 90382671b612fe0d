// resolved_toml against load: whatever a job says, its resolved file says too.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "hairpin/config/field.h"
#include "hairpin/config/job.h"

namespace hairpin::config {
namespace {

double number(double low, double high) {  // with a long binary fraction
  const auto unit = *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 53);
  return low + (high - low) * (static_cast<double>(unit) / 9007199254740992.0);
}
std::filesystem::path path() {
  return "p" + *rc::gen::container<std::string>(rc::gen::inRange<char>(1, 127));
}
template <class T>
T one_of(std::initializer_list<T> choices) {
  return *rc::gen::elementOf(std::vector<T>(choices));
}
std::int64_t count(std::int64_t low, std::int64_t high) { return *rc::gen::inRange(low, high); }
bool coin() { return *rc::gen::arbitrary<bool>(); }

void set_parallelism(Site& site) {
  site.tensor_parallel = count(1, 1025);
  site.data_parallel = count(1, 1024 / site.tensor_parallel + 1);
  site.sequence_parallel = site.tensor_parallel > 1 && coin();
  site.zero = count(0, 2);
  site.overlap_grad_reduce = coin();
  site.overlap_param_gather = coin();
}

Site any_site() {
  Site site;
  if (coin()) site.keys = path();
  if (coin()) site.model = path();
  site.threads = count(1, 257);
  set_parallelism(site);
  return site;
}

Data any_data() {
  return {path(),
          count(2, 5000),
          coin(),
          coin(),
          one_of({OnBad::fail, OnBad::skip}),
          one_of({OnLong::fail, OnLong::skip, OnLong::truncate})};
}

Optimizer any_optimizer() {
  Optimizer optimizer;
  optimizer.kind = one_of<std::string>({"adamw", "sgd"});
  optimizer.learning_rate = number(1e-9, 1.0);
  optimizer.min_learning_rate = optimizer.learning_rate * number(0, 1);
  optimizer.decay = one_of<std::string>({"cosine", "linear", "constant"});
  optimizer.warmup_steps = count(0, 1000);
  optimizer.beta1 = number(0, 1);
  optimizer.beta2 = number(0, 1);
  optimizer.epsilon = number(1e-12, 1e-3);
  optimizer.weight_decay = number(0, 2);
  if (optimizer.kind == "sgd") optimizer.momentum = number(0, 1);
  if (coin()) optimizer.clip_norm = number(1e-3, 1e3);
  optimizer.norm_type = one_of({NormType::one, NormType::two, NormType::infinity});
  return optimizer;
}

Link any_link() {
  const auto codec = [] { return one_of<std::string>({"fp32", "bf16", "int8", "int4"}); };
  Link link;
  link.address = "127.0.0.1:" + std::to_string(count(1, 65536));
  link.codec = codec();
  for (auto* own : {&link.codec_activation_up, &link.codec_gradient_up, &link.codec_activation_down,
                    &link.codec_gradient_down})
    if (coin()) *own = codec();
  link.connections = count(1, 17);
  link.insecure_loopback = coin();
  link.connect_timeout = number(0.1, 1000);
  link.peer_timeout = number(2, 1000);
  return link;
}

Job any_job() {
  Job job{.file = "job.toml"};
  job.model.path = path();
  job.data = any_data();
  job.train = {count(0, 1'000'000'001),
               count(1, 65'537),
               count(1, 65'537),
               "fp32",
               one_of({Loss::per_token, Loss::per_sample, Loss::per_microbatch}),
               count(1, 9999),
               one_of({OnNonfinite::stop, OnNonfinite::skip}),
               static_cast<std::uint64_t>(count(0, INT64_MAX))};
  job.optimizer = any_optimizer();
  job.output = {path(), coin()};
  if (coin()) {
    job.schedule.kind = one_of<std::string>({"gpipe", "1f1b", "zb-h1"});
    job.schedule.split_backward = coin();
    job.site.threads = count(1, 257);
    if (coin()) job.site.pipeline = {count(0, 99), count(0, 99)};
    set_parallelism(job.site);
    job.train.microbatches = count(1, 65'536 / job.site.data_parallel + 1);
    return job;
  }
  job.split = Split{{count(0, 99), count(0, 99), count(0, 99)}, true};
  job.schedule.kind = one_of<std::string>({"gpipe", "hairpin-1f1b", "hairpin-adaptive"});
  job.schedule.split_backward = coin();
  if (coin()) job.schedule.adapt = job.schedule.kind == "hairpin-adaptive" && coin();
  if (coin()) job.schedule.max_in_flight = count(1, 9999);
  job.edge = any_site();
  job.cloud = any_site();
  job.train.microbatches = count(1, 65'536 / job.cloud.data_parallel + 1);
  job.edge.data_parallel =
      std::min(job.edge.data_parallel, job.train.microbatches * job.cloud.data_parallel);
  job.link = any_link();
  return job;
}

RC_GTEST_PROP(ResolvedTest, LoadsAsTheSameJob, ()) {
  const auto job = any_job();
  const auto loaded = parse_job(resolved_toml(job), job.file);
  if (!loaded) RC_FAIL(loaded.error().message);
  RC_ASSERT(*loaded == job);
}

TEST(ResolvedTest, HasEveryKeyOfTheJobsForm) {
  Job job;
  for (const bool split : {false, true}) {
    if (split) job.split = Split{{1, 1, 1}, false};
    const auto text = "\n" + resolved_toml(job);
    for (const auto& field : fields()) {
      const auto table = text.find("\n[" + field.table + "]\n");
      const bool due = table_applies(field.table, split);
      ASSERT_EQ(table != std::string::npos, due) << field.table;
      if (!due) continue;
      const auto keys = text.substr(table + 1, text.find("\n[", table + 1) - table);
      const bool shown = keys.find("\n" + field.key + " = ") != std::string::npos ||
                         keys.find("\n# " + field.key + ": none\n") != std::string::npos;
      EXPECT_TRUE(shown) << field.table << " " << field.key;
    }
  }
}

TEST(FieldTest, NamesAreUniqueAndTablesContiguous) {
  std::set<std::pair<std::string, std::string>> names;
  for (const auto& field : fields()) EXPECT_TRUE(names.emplace(field.table, field.key).second);
  const auto tables = table_names();
  EXPECT_EQ(std::set<std::string>(tables.begin(), tables.end()).size(), tables.size());
}

}  // namespace
}  // namespace hairpin::config

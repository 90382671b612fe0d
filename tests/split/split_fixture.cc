#include "tests/split/split_fixture.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "hairpin/base/random.h"
#include "hairpin/link/memory_link.h"
#include "hairpin/link/tls_link.h"
#include "hairpin/safetensors/model_files.h"
#include "hairpin/train/run.h"

namespace hairpin {
namespace {

using train::Part;

void read_metrics(const std::filesystem::path& directory, Outcome& outcome) {
  std::ifstream file(directory / "metrics.jsonl");
  for (std::string line; std::getline(file, line);) {
    const auto record = nlohmann::json::parse(line);
    outcome.losses.push_back(record.at("loss"));
    outcome.norms.push_back(record.at("grad_norm"));
  }
}

void read_export(const std::filesystem::path& directory, Outcome& outcome) {
  const auto files = safetensors::open_model(directory);
  ASSERT_TRUE(files) << files.error().message;
  for (const auto& [name, tensor] : files->tensors()) {
    std::string text(dtype_name(tensor.info.dtype));
    for (const auto extent : tensor.info.shape) text += " " + std::to_string(extent);
    outcome.tensors[name] = text + "\n" + std::string(as_text(tensor.bytes));
  }
}

Outcome outcome_of(const std::filesystem::path& directory) {
  Outcome outcome;
  read_metrics(directory, outcome);
  read_export(directory / "export", outcome);
  return outcome;
}

}  // namespace

samples::Dataset random_dataset(std::int64_t count, std::int64_t longest, std::int64_t vocab,
                                std::uint64_t seed) {
  Random random(seed);
  samples::Dataset dataset;
  for (std::int64_t i = 0; i < count; ++i) {
    samples::Sample sample;
    const auto length = 2 + random.below(static_cast<std::uint64_t>(longest - 1));
    for (std::uint64_t t = 0; t < length; ++t) {
      sample.tokens.push_back(
          static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(vocab))));
      sample.trained.push_back(t > 0 && (t == 1 || random.below(3) > 0));
    }
    dataset.samples.push_back(std::move(sample));
  }
  return dataset;
}

config::Job tiny_job(const std::filesystem::path& model, const std::filesystem::path& output) {
  config::Job job;
  job.model.path = model;
  job.output.directory = output;
  job.data.sequence_length = 48;
  job.train.steps = 3;
  job.train.loss_chunk = 16;
  job.optimizer.learning_rate = 1e-2;
  job.optimizer.warmup_steps = 1;
  job.optimizer.weight_decay = 0.01;
  job.optimizer.clip_norm = 0.5;
  return job;
}

LinkPair memory_pair() {
  link::MemoryLinkOptions options;
  options.delay_up = options.delay_down = std::chrono::microseconds(300);
  options.jitter = std::chrono::microseconds(500);
  options.reorder = true;
  options.seed = 11;
  auto pair = link::make_memory_pair(options);
  return {std::move(pair.edge), std::move(pair.cloud)};
}

LinkPair tls_pair(const std::filesystem::path& keys) {
  link::TlsLinkOptions options;
  options.port = 0;
  options.keys = keys / "cloud";
  auto listener = link::Listener::bind(options);
  EXPECT_TRUE(listener) << listener.error().message;
  options.port = listener->port();
  options.keys = keys / "edge";
  LinkPair pair;
  std::jthread dialling([&] {
    auto edge = link::dial(options);
    EXPECT_TRUE(edge) << edge.error().message;
    if (edge) pair.edge = std::move(*edge);
  });
  auto cloud = listener->accept();
  EXPECT_TRUE(cloud) << cloud.error().message;
  dialling.join();
  pair.cloud = std::move(*cloud);
  return pair;
}

Outcome run_whole(config::Job job, const samples::Dataset& dataset) {
  job.schedule.kind = "1f1b";
  const auto setup = train::prepare(job, Part::whole);
  EXPECT_TRUE(setup) << setup.error().message;
  if (!setup) return {};
  const auto done = train::train_whole(*setup, dataset);
  EXPECT_TRUE(done) << done.error().message;
  return outcome_of(job.output.directory);
}

Outcome run_split(config::Job job, const samples::Dataset& dataset, LinkPair pair) {
  const auto edge = train::prepare(job, Part::edge), cloud = train::prepare(job, Part::cloud);
  EXPECT_TRUE(edge) << edge.error().message;
  EXPECT_TRUE(cloud) << cloud.error().message;
  if (!edge || !cloud) return {};
  Result<void> cloud_done;
  std::jthread thread([&] { cloud_done = train::train_cloud(*cloud, *pair.cloud); });
  const auto edge_done = train::train_edge(*edge, dataset, *pair.edge, nullptr);
  thread.join();
  EXPECT_TRUE(edge_done) << edge_done.error().message;
  EXPECT_TRUE(cloud_done) << cloud_done.error().message;
  return outcome_of(job.output.directory / "edge");
}

}  // namespace hairpin

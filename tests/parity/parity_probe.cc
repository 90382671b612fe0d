// What the comparison with `transformers` asks of Hairpin, on batches given as token ids:
//   parity_probe logits MODEL BATCH.json OUT.safetensors
//   parity_probe train MODEL STEPS.json     one JSON line a step: loss, grad_norm
// A batch is {"tokens": [...], "segment_lengths": [...], "targets": [...]}, target -1: no loss.
#include <ATen/core/grad_mode.h>
#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <string>

#include "hairpin/base/file.h"
#include "hairpin/base/temporary_directory.h"
#include "hairpin/checkpoint/weights.h"
#include "hairpin/safetensors/writer.h"
#include "hairpin/tensor/convert.h"
#include "hairpin/tensor/threads.h"
#include "hairpin/train/site.h"

namespace hairpin {
namespace {

using nlohmann::json;

template <class T>
T value_or_exit(Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "parity_probe: {}\n", result.error().message);
  std::exit(static_cast<int>(result.error().kind));
}
void check(Result<void> result) {
  if (result) return;
  fmt::print(stderr, "parity_probe: {}\n", result.error().message);
  std::exit(static_cast<int>(result.error().kind));
}

json read_json(const std::string& path) { return json::parse(value_or_exit(read_text_file(path))); }

std::shared_ptr<models::MicrobatchInput> input_of(const json& batch) {
  auto input = std::make_shared<models::MicrobatchInput>();
  input->tokens = batch.at("tokens").get<std::vector<std::int32_t>>();
  input->targets = batch.at("targets").get<std::vector<std::int32_t>>();
  for (const std::int64_t length : batch.at("segment_lengths")) input->layout.append(length);
  return input;
}

void write_logits(const std::string& model_path, const std::string& batch_path,
                  const std::string& out) {
  const auto model = value_or_exit(hf::open_whole(model_path));
  const auto count = model.architecture.num_hidden_layers + 2;
  models::ModelPart part(model.architecture, {{0, count}},
                         {.positions = model.architecture.max_position_embeddings});
  checkpoint::load_weights(part, model);
  const auto input = input_of(read_json(batch_path));
  const at::NoGradGuard no_grad;
  Tensor x;
  for (std::int64_t i = 0; i + 1 < count; ++i) x = part.segment(i).forward(x, *input);
  const Tensor logits = part.head()->logits(x);
  auto writer = value_or_exit(
      safetensors::Writer::create(out, {{"logits", DType::f32, {logits.size(0), logits.size(1)}}}));
  check(writer.append("logits", to_bytes(logits, DType::f32)));
  check(writer.commit());
}

// The steps of the file, every trained token of a step weighing alike.
class GivenSteps : public train::StepSource {
 public:
  explicit GivenSteps(json steps) : steps_(std::move(steps)) {}
  Result<train::Step> next(std::int64_t index) override {
    train::Step step;
    std::vector<std::shared_ptr<models::MicrobatchInput>> inputs;
    for (const auto& batch : steps_.at(static_cast<std::size_t>(index))) {
      inputs.push_back(input_of(batch));
      step.tokens += inputs.back()->layout.tokens;
      for (const auto target : inputs.back()->targets) step.trained_tokens += target >= 0;
    }
    for (auto& input : inputs)
      for (const auto target : input->targets)
        input->weights.push_back(target >= 0 ? 1.0f / static_cast<float>(step.trained_tokens)
                                             : 0.0f);
    step.inputs.assign(inputs.begin(), inputs.end());
    return step;
  }

 private:
  json steps_;
};

void print_training(const std::string& model_path, const std::string& steps_path) {
  const json file = read_json(steps_path);
  const json &given = file.at("optimizer"), &steps = file.at("steps");
  const TemporaryDirectory output;
  config::Job job;
  job.model.path = model_path;
  job.output.directory = output / "run";
  job.schedule.kind = "1f1b";
  job.train.steps = static_cast<std::int64_t>(steps.size());
  job.train.microbatches = static_cast<std::int64_t>(steps.at(0).size());
  auto& optimizer = job.optimizer;
  optimizer.learning_rate = given.at("learning_rate");
  optimizer.beta1 = given.at("beta1");
  optimizer.beta2 = given.at("beta2");
  optimizer.epsilon = given.at("epsilon");
  optimizer.weight_decay = given.at("weight_decay");
  optimizer.clip_norm = given.at("clip_norm").get<double>();
  optimizer.warmup_steps = given.at("warmup_steps");
  optimizer.decay = "constant";

  const auto setup = value_or_exit(train::prepare(job, train::Part::whole));
  GivenSteps source(steps);
  pipeline::Mailbox mailbox;
  std::vector<MemoryMeter> meters(1);
  train::Site site(setup, &source, mailbox, nullptr, nullptr, meters);
  check(site.run([](const metrics::StepRecord& record) -> Result<void> {
    fmt::print("{}\n", json{{"loss", *record.loss}, {"grad_norm", record.grad_norm}}.dump());
    return {};
  }));
}

}  // namespace
}  // namespace hairpin

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  hairpin::set_compute_threads(1);
  if (arguments.size() == 4 && arguments[0] == "logits") {
    hairpin::write_logits(arguments[1], arguments[2], arguments[3]);
  } else if (arguments.size() == 3 && arguments[0] == "train") {
    hairpin::print_training(arguments[1], arguments[2]);
  } else {
    fmt::print(stderr, "usage: parity_probe logits MODEL BATCH OUT | train MODEL STEPS\n");
    return 2;
  }
  return 0;
}

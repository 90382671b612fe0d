#include "hairpin/train/evaluate.h"

#include <ATen/core/grad_mode.h>

#include "hairpin/samples/dataset.h"
#include "hairpin/train/whole_model.h"

namespace hairpin::train {
namespace {

constexpr std::int64_t kBatchTokens = 2048;

// Adds a sample to a batch; each of its trained tokens weighs 1.
void append(models::MicrobatchInput& batch, const samples::Sample& sample) {
  const auto length = sample.tokens.size();
  batch.layout.append(static_cast<std::int64_t>(length));
  batch.tokens.insert(batch.tokens.end(), sample.tokens.begin(), sample.tokens.end());
  for (std::size_t i = 0; i < length; ++i) {
    const bool predicts = i + 1 < length && sample.trained[i + 1];
    batch.targets.push_back(predicts ? sample.tokens[i + 1] : -1);
    batch.weights.push_back(predicts ? 1.0f : 0.0f);
  }
}

double summed_loss(WholeModel& model, const models::MicrobatchInput& batch) {
  const at::NoGradGuard no_grad;
  Tensor x;
  for (std::int64_t i = 0; i < model.num_segments(); ++i)
    x = model.part->segment(i).forward(x, batch);
  return x.item<double>();
}

}  // namespace

Result<Evaluation> evaluate(const EvaluateOptions& options) {
  HAIRPIN_TRY(auto model, open_whole(options.model));
  if (const auto most = model.directory.architecture.max_position_embeddings;
      options.sequence_length > most)
    return bad_input(
        "{}: a sequence length of {} is more than the model's max_position_embeddings {}; give a "
        "lower --sequence-length",
        options.model.string(), options.sequence_length, most);
  HAIRPIN_TRY(const auto dataset,
              samples::load_chat_jsonl(options.data, model.tokenizer,
                                       {.sequence_length = options.sequence_length,
                                        .length_name = "--sequence-length",
                                        .bad_advice = "correct the line",
                                        .long_advice = "raise it, or shorten the sample"}));
  load_weights(model, options.sequence_length, options.threads);
  double sum = 0;
  models::MicrobatchInput batch;
  for (const auto& sample : dataset.samples) {
    if (batch.layout.tokens + static_cast<std::int64_t>(sample.tokens.size()) > kBatchTokens) {
      if (batch.layout.tokens > 0) sum += summed_loss(model, batch);
      batch = {};
    }
    append(batch, sample);
  }
  sum += summed_loss(model, batch);
  const auto& report = dataset.report;
  return Evaluation{sum / static_cast<double>(report.trained_tokens), report.samples, report.tokens,
                    report.trained_tokens};
}

}  // namespace hairpin::train

#include "hairpin/train/steps.h"

#include "hairpin/train/loss_weights.h"

namespace hairpin::train {
namespace {

samples::BatchOptions batch_options(const config::Job& job) {
  return {.sequence_length = job.data.sequence_length,
          .packing = job.data.packing,
          .shuffle = job.data.shuffle,
          .microbatch_size = job.train.microbatch_size,
          .seed = job.train.seed};
}

wire::MicrobatchShape shape_of(const nn::PackedLayout& layout) {
  wire::MicrobatchShape shape;
  for (const auto& segment : layout.segments)
    shape.segments.push_back({static_cast<std::uint32_t>(segment.length),
                              static_cast<std::uint32_t>(segment.first_position)});
  return shape;
}

std::shared_ptr<models::MicrobatchInput> input_of(samples::Microbatch&& microbatch) {
  auto input = std::make_shared<models::MicrobatchInput>();
  for (const auto length : microbatch.segment_lengths) input->layout.append(length);
  input->tokens = std::move(microbatch.tokens);
  input->targets = std::move(microbatch.targets);
  return input;
}

}  // namespace

SampleSteps::SampleSteps(const Setup& setup, const samples::Dataset& dataset,
                         pipeline::LinkSession* session)
    : microbatches_(setup.microbatches_per_step()),
      loss_(setup.job.train.loss),
      session_(session),
      batcher_(dataset, batch_options(setup.job), static_cast<std::size_t>(2 * microbatches_)) {}

Result<Step> SampleSteps::next(std::int64_t index) {
  Step step;
  GlobalBatch inputs;
  for (std::int64_t i = 0; i < microbatches_; ++i) {
    inputs.push_back(input_of(batcher_.next()));
    step.tokens += inputs.back()->layout.tokens;
  }
  step.trained_tokens = weigh_losses(loss_, inputs);
  if (session_ != nullptr) {
    wire::Manifest manifest{.step = static_cast<std::uint32_t>(index)};
    for (const auto& input : inputs) manifest.microbatches.push_back(shape_of(input->layout));
    HAIRPIN_CHECK_OK(session_->send(std::move(manifest)));
  }
  step.inputs.assign(inputs.begin(), inputs.end());
  return step;
}

Result<Step> ManifestSteps::next(std::int64_t index) {
  HAIRPIN_TRY(const auto manifest, session_.next_manifest());
  if (manifest.step != index ||
      manifest.microbatches.size() != static_cast<std::size_t>(setup_.microbatches_per_step()))
    return fail(ErrorKind::peer,
                "the edge's manifest is of step {} with {} microbatches, due is step {} with {}",
                manifest.step, manifest.microbatches.size(), index, setup_.microbatches_per_step());
  Step step;
  for (const auto& shape : manifest.microbatches) {
    HAIRPIN_TRY(auto input, accept(shape));
    step.tokens += input->layout.tokens;
    step.inputs.push_back(std::move(input));
  }
  return step;
}

Result<std::shared_ptr<const models::MicrobatchInput>> ManifestSteps::accept(
    const wire::MicrobatchShape& shape) {
  auto input = std::make_shared<models::MicrobatchInput>();
  const auto longest = setup_.job.data.sequence_length;
  for (const auto& segment : shape.segments) {
    if (segment.length == 0 || std::int64_t{segment.first_position} + segment.length > longest)
      return fail(ErrorKind::peer,
                  "the edge's manifest has a sample of positions {} to {}; this job's are below {}",
                  segment.first_position, std::int64_t{segment.first_position} + segment.length,
                  longest);
    input->layout.append(segment.length, segment.first_position);
  }
  if (input->layout.tokens == 0 || input->layout.tokens > setup_.max_tokens())
    return fail(ErrorKind::peer,
                "the edge's manifest has a microbatch of {} tokens; this job's have 1 to {}",
                input->layout.tokens, setup_.max_tokens());
  return input;
}

}  // namespace hairpin::train

#include "hairpin/train/job_contract.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>

#include "hairpin/schedule/fingerprint.h"
#include "hairpin/train/agreement.h"

namespace hairpin::train {

namespace {

const char* adapt_word(const config::Schedule& job) {
  switch (adapt_of(job)) {
    case schedule::Adapt::never: return "never";
    case schedule::Adapt::once: return "once";
    case schedule::Adapt::always: break;
  }
  return "always";
}

}  // namespace

link::Contract job_contract(const Setup& setup, const hf::Identity& model) {
  const auto& job = setup.job;
  link::Contract contract;
  const auto add = [&](const std::string& name, auto value) {
    contract.fields.emplace_back(name, fmt::format("{}", value));
  };
  add("model config.json (SHA-256)", to_hex(model.config));
  add("model weights (SHA-256)", to_hex(model.weights));
  add("split.layers", fmt::format("[{}]", fmt::join(job.split->layers, ", ")));
  for (const auto& [name, site] : {std::pair{"edge", &job.edge}, std::pair{"cloud", &job.cloud}}) {
    add(fmt::format("{}.tensor_parallel", name), site->tensor_parallel);
    add(fmt::format("{}.data_parallel", name), site->data_parallel);
    add(fmt::format("{}.sequence_parallel", name), site->sequence_parallel);
  }
  add("data.sequence_length", job.data.sequence_length);
  add("train.steps", job.train.steps);
  add("train.microbatches", job.train.microbatches);
  add("train.microbatch_size", job.train.microbatch_size);
  add("train.precision", job.train.precision);
  add("train.loss", config::word_of(job.train.loss));
  add("train.loss_chunk", job.train.loss_chunk);
  add("train.on_nonfinite", config::word_of(job.train.on_nonfinite));
  add("train.seed", job.train.seed);
  const auto& optimizer = job.optimizer;
  add("optimizer.kind", optimizer.kind);
  add("optimizer.learning_rate", optimizer.learning_rate);
  add("optimizer.decay", optimizer.decay);
  add("optimizer.min_learning_rate", optimizer.min_learning_rate);
  add("optimizer.warmup_steps", optimizer.warmup_steps);
  add("optimizer.beta1", optimizer.beta1);
  add("optimizer.beta2", optimizer.beta2);
  add("optimizer.epsilon", optimizer.epsilon);
  add("optimizer.weight_decay", optimizer.weight_decay);
  add("optimizer.momentum", optimizer.momentum);
  add("optimizer.clip_norm",
      optimizer.clip_norm ? fmt::format("{}", *optimizer.clip_norm) : std::string("none"));
  add("optimizer.norm_type", config::word_of(optimizer.norm_type));
  add("schedule.kind", job.schedule.kind);
  add("schedule.split_backward", job.schedule.split_backward);
  add("schedule (first order's fingerprint)",
      fmt::format("{:016x}", schedule::fingerprint(setup.schedule)));
  add("schedule.adapt", adapt_word(job.schedule));
  add("schedule.max_in_flight",
      job.schedule.max_in_flight ? fmt::format("{}", *job.schedule.max_in_flight) : "none");
  const auto codecs = setup.codecs();
  add("link.codec_activation_up", wire::codec_name(codecs.activation_up));
  add("link.codec_gradient_up", wire::codec_name(codecs.gradient_up));
  add("link.codec_activation_down", wire::codec_name(codecs.activation_down));
  add("link.codec_gradient_down", wire::codec_name(codecs.gradient_down));
  return contract;
}

std::uint64_t max_frame_bytes(const Setup& setup) {
  const auto tokens = static_cast<std::uint64_t>(setup.max_tokens());
  const auto hidden = static_cast<std::uint64_t>(setup.model.architecture.hidden_size);
  const auto microbatches = static_cast<std::uint64_t>(setup.microbatches_per_step());
  const std::uint64_t tensor = tokens * hidden * sizeof(float);
  const std::uint64_t manifest = microbatches * (tokens * sizeof(wire::SegmentShape) + 16);
  return std::max({tensor, manifest, kWeightsChunkBytes}) + (std::uint64_t{64} << 10);
}

}  // namespace hairpin::train

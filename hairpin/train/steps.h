// The microbatches of each training step, as a site gets them: the edge from its samples, the cloud
// from the edge's manifests, which say how long the packed samples are and nothing else.
#pragma once

#include <cstdint>
#include <memory>

#include "hairpin/base/result.h"
#include "hairpin/pipeline/executor.h"
#include "hairpin/pipeline/link_session.h"
#include "hairpin/samples/dataset.h"
#include "hairpin/samples/prefetching_batcher.h"
#include "hairpin/train/setup.h"

namespace hairpin::train {

struct Step {
  pipeline::StepInputs inputs;
  std::int64_t tokens = 0;
  std::int64_t trained_tokens = 0;  // 0 in the cloud, which learns it with the step's scalars
};

// One thread at a time.
class StepSource {
 public:
  virtual ~StepSource() = default;
  // Steps come in order, from 0.
  virtual Result<Step> next(std::int64_t step) = 0;
};

// Samples; with a session it also sends each step's manifest. Losses are weighted as train.loss
// says, over the whole global batch; a step without trained tokens is served like any other, all
// its weights being 0.
class SampleSteps : public StepSource {
 public:
  // `dataset` (not empty) and `session` (may be null) must outlive the source.
  SampleSteps(const Setup& setup, const samples::Dataset& dataset, pipeline::LinkSession* session);
  Result<Step> next(std::int64_t step) override;

 private:
  std::int64_t microbatches_;
  config::Loss loss_;
  pipeline::LinkSession* session_;
  samples::PrefetchingBatcher batcher_;
};

class ManifestSteps : public StepSource {
 public:
  ManifestSteps(const Setup& setup, pipeline::LinkSession& session)
      : setup_(setup), session_(session) {}
  Result<Step> next(std::int64_t step) override;

 private:
  Result<std::shared_ptr<const models::MicrobatchInput>> accept(const wire::MicrobatchShape& shape);

  const Setup& setup_;
  pipeline::LinkSession& session_;
};

}  // namespace hairpin::train

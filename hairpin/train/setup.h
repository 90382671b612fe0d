// What a site needs before it trains, made from a job and proved to fit together: nothing has been
// written or sent yet, so whatever is wrong here costs the user one error and nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hairpin/arch/architecture.h"
#include "hairpin/base/result.h"
#include "hairpin/codec/choice.h"
#include "hairpin/config/job.h"
#include "hairpin/hf/model_directory.h"
#include "hairpin/mesh/mesh.h"
#include "hairpin/schedule/generate.h"
#include "hairpin/schedule/schedule.h"

namespace hairpin::train {

// Whose part of the job this process runs. `whole`: one site, no link.
enum class Part { whole, edge, cloud };
std::string_view part_name(Part part);  // "site", "edge", "cloud": as its table in the job

struct Setup {
  Part part = Part::whole;
  config::Job job;
  hf::ModelDirectory model;                // whole, or this site's half
  schedule::Schedule schedule;             // checked
  std::vector<arch::SegmentRange> stages;  // by logical stage
  std::int64_t num_segments = 0;           // of the model

  // This site's ranks: pp counts its own pipeline ranks (the edge has one), dp its replicas.
  mesh::Mesh mesh() const;
  // Whose list of the schedule a rank of this site executes; all of a tensor-parallel group alike.
  int schedule_rank(const mesh::Coordinate& at) const;
  std::string rank_name(const mesh::Coordinate& at) const;  // "cloud rank pp 0, dp 1, tp 0"
  // What the schedule was generated with; times are never given.
  schedule::GenerateOptions schedule_options() const;
  std::int64_t microbatches_per_step() const { return job.train.microbatches * schedule.domains; }
  // Most tokens of a microbatch.
  std::int64_t max_tokens() const { return job.train.microbatch_size * job.data.sequence_length; }
  // What crosses the link in which codec: link.codec, or the key of its kind and direction.
  codec::Choice codecs() const;
  int threads() const;
  const config::Site& site() const;
  // Where this site writes: output.directory, or its folder edge or cloud.
  std::filesystem::path output_directory() const;
};

Result<Setup> prepare(const config::Job& job, Part part);

}  // namespace hairpin::train

// The end of a split run: the cloud's trained layers come to the edge, tensor by tensor, each with
// its SHA-256. The edge asks; nothing of its own ever goes the other way.
#pragma once

#include <memory>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/models/model_part.h"
#include "hairpin/pipeline/link_session.h"
#include "hairpin/safetensors/model_writer.h"
#include "hairpin/train/setup.h"

namespace hairpin::train {

// Cloud: waits for the edge's request and sends all tensors of `parts`, in the dtypes of the files
// they were read from.
Result<void> serve_weights(const Setup& setup, pipeline::LinkSession& session,
                           const std::vector<models::ModelPart*>& parts);

// Edge: asks for the cloud's tensors and proves that they are exactly those the cloud holds. Each
// source, when read, receives its tensor, checks its SHA-256, and keeps it until the next is read.
// They come, and must be read, in the order of `sort_for_file`. `session` must outlive them.
Result<std::vector<safetensors::Source>> request_weights(const Setup& setup,
                                                         pipeline::LinkSession& session);

// The order in which a writer of files reads its sources, whatever the sharding.
void sort_for_file(std::vector<safetensors::Source>& sources);

}  // namespace hairpin::train

// The end of a split run: the cloud's trained layers come to the edge, tensor by tensor, each with
// its SHA-256. The edge asks; nothing of its own ever goes the other way.
#pragma once

#include <memory>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/checkpoint/weights.h"
#include "hairpin/pipeline/link_session.h"
#include "hairpin/safetensors/model_writer.h"
#include "hairpin/train/setup.h"

namespace hairpin::train {

// Cloud: answers the edge's requests for the tensors of `parts` (of each pipeline rank), in the
// dtypes of the files they were read from, until the edge says goodbye.
Result<void> serve_weights(const Setup& setup, pipeline::LinkSession& session,
                           const std::vector<checkpoint::DividedPart>& parts);

// Edge: asks for the list of the cloud's tensors and proves that they are exactly those the cloud
// holds. Each source, when read, asks for its tensor, receives it, checks its SHA-256, and keeps it
// until the next is read; any order will do. `session` must outlive the sources.
Result<std::vector<safetensors::Source>> request_weights(const Setup& setup,
                                                         pipeline::LinkSession& session);

}  // namespace hairpin::train

// The contract of a job: what edge and cloud must agree on for the split run to be the run that was
// meant. Nothing about samples is in it.
#pragma once

#include "hairpin/hf/digest.h"
#include "hairpin/link/contract.h"
#include "hairpin/train/setup.h"

namespace hairpin::train {

link::Contract job_contract(const Setup& setup, const hf::Identity& model);

// The longest frame either side may send under this job, for Link::set_max_frame_bytes.
std::uint64_t max_frame_bytes(const Setup& setup);

// Bytes of weights in one message.
inline constexpr std::uint64_t kWeightsChunkBytes = std::uint64_t{4} << 20;

}  // namespace hairpin::train

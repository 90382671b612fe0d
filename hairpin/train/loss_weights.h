// How much each token's loss counts in a step's objective, which is the plain sum of weight x loss
// over the whole global batch: nothing is divided by a number of ranks or microbatches afterwards.
//
//   per_token       each trained token alike: 1 / N, N trained tokens in the batch
//   per_sample      each sample alike, its n tokens share evenly: 1 / (S n)
//   per_microbatch  each microbatch alike, its n tokens share evenly: 1 / (M n)
//
// A sample is a packed segment. S and M count those with at least one trained token: what is fully
// masked contributes nothing. The weights of a batch sum to 1, or to 0 where nothing is trained on.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "hairpin/config/job.h"
#include "hairpin/models/segment.h"

namespace hairpin::train {

// All microbatches of one step, over all domains.
using GlobalBatch = std::vector<std::shared_ptr<models::MicrobatchInput>>;

// Sets every microbatch's `weights` from its layout and targets (a trained token is one with a
// target); returns the number of trained tokens.
std::int64_t weigh_losses(config::Loss loss, const GlobalBatch& batch);

}  // namespace hairpin::train

// Runs of tiny models, whole and split, for the tests that compare them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "hairpin/base/temporary_directory.h"
#include "hairpin/config/job.h"
#include "hairpin/link/link.h"
#include "hairpin/samples/dataset.h"

namespace hairpin {

// What must be equal between runs.
struct Outcome {
  std::vector<double> losses;                  // of each step
  std::vector<double> norms;                   // of each step
  std::map<std::string, std::string> tensors;  // exported: name -> dtype, shape and bytes
  bool operator==(const Outcome&) const = default;
};

// The two ends of a link that stands.
struct LinkPair {
  std::unique_ptr<link::Link> edge, cloud;
};

// In memory, with delay, jitter and tensors that overtake one another.
LinkPair memory_pair();
// Over TLS on 127.0.0.1, with what `hairpin keys` wrote into `keys`.
LinkPair tls_pair(const std::filesystem::path& keys);

// Samples of random tokens and lengths, some tokens of each trained on.
samples::Dataset random_dataset(std::int64_t count, std::int64_t longest, std::int64_t vocab,
                                std::uint64_t seed);

// A job on `model` for tiny models: 3 steps of samples of up to 48 tokens, AdamW, clipping.
config::Job tiny_job(const std::filesystem::path& model, const std::filesystem::path& output);

// Both fail the test when the run fails.
Outcome run_whole(config::Job job, const samples::Dataset& dataset);
Outcome run_split(config::Job job, const samples::Dataset& dataset, LinkPair pair);

}  // namespace hairpin

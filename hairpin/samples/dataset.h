// Samples as token ids with the tokens to be trained on, and the order they are served in.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "hairpin/base/result.h"

namespace hairpin::tokenizer {
class ChatTokenizer;
}

namespace hairpin::samples {

// One sample. `trained[i]` says whether predicting token i (from those before it) is trained on;
// trained[0] is always false.
struct Sample {
  std::vector<std::int32_t> tokens;
  std::vector<bool> trained;
};

// What was left out on the way, and why; each also logged with file and line.
struct LoadReport {
  std::int64_t samples = 0;
  std::int64_t bad = 0;       // skipped as bad (on_bad_sample = "skip")
  std::int64_t too_long = 0;  // skipped or truncated
  std::int64_t tokens = 0;
  std::int64_t trained_tokens = 0;
};

struct LoadOptions {
  std::int64_t sequence_length = 512;
  bool skip_bad = false;  // else: the first bad line is an error
  enum class Long { fail, skip, truncate } on_long = Long::fail;

  // How the user can change the above: a job's keys, or a command's flags.
  std::string length_name = "data.sequence_length";
  std::string bad_advice = R"(correct the line, or set data.on_bad_sample = "skip")";
  std::string long_advice = R"(raise it, or set data.on_long_sample = "truncate" or "skip")";
};

struct Dataset {
  std::vector<Sample> samples;
  LoadReport report;
};

// OpenAI-messages JSONL: {"messages": [{"role": "user", "content": "..."}, ...]} a line;
// docs/data.md has the rules. A line that breaks them is an error that names file, line and reason,
// or is logged and counted, as the options say. A file that leaves no sample is an error. Each
// sample of the dataset has a token to train on.
Result<Dataset> load_chat_jsonl(const std::filesystem::path& file,
                                const tokenizer::ChatTokenizer& tokenizer,
                                const LoadOptions& options);

// A microbatch: samples laid end to end; attention never crosses from one to the next.
struct Microbatch {
  std::vector<std::int64_t> sample_ids;       // indices into the dataset
  std::vector<std::int32_t> tokens;           // [T]
  std::vector<std::int32_t> segment_lengths;  // sums to T; each segment's positions start at 0
  std::vector<std::int32_t> targets;          // [T] the next token of the segment, or -1: no loss
};

// The global order of microbatches, fixed by (dataset, options) alone: epochs are shuffled with
// seeds of their own, packing is greedy next-fit in that order and may span epochs.
struct BatchOptions {
  std::int64_t sequence_length = 512;
  bool packing = true;
  bool shuffle = true;
  std::int64_t microbatch_size = 1;  // packed sequences, or samples when packing is off
  std::uint64_t seed = 1;
};
class Batcher {
 public:
  // `dataset` must outlive the batcher and hold at least one sample; with packing, none longer than
  // `sequence_length`.
  Batcher(const Dataset& dataset, BatchOptions options);
  Microbatch next();

 private:
  std::int64_t peek();  // the sample to be served next; begins an epoch where one is used up
  void take(Microbatch& out);
  const Dataset& dataset_;
  BatchOptions options_;
  std::vector<std::int64_t> order_;  // of the current epoch
  std::int64_t epoch_ = -1;
  std::size_t position_ = 0;
};

}  // namespace hairpin::samples

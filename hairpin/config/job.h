// A job file as plain structs. Every field has a key of the same name in its table; docs/config.md
// is the reference. Loading checks types, ranges and unknown keys; what needs the model or the data
// (sums of layers, vocabulary, ...) is checked by who owns those.
//
// The structs are values; the functions hold no state and may be called from any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hairpin/base/result.h"

namespace hairpin::config {

struct Model {
  std::filesystem::path path;  // Hugging Face directory, whole or the edge's half of a split
  bool operator==(const Model&) const = default;
};
struct Split {
  std::vector<std::int64_t> layers;  // edge head, cloud ..., edge tail; at least three, each >= 0
  bool allow_plaintext_cut = false;
  bool operator==(const Split&) const = default;
};
enum class OnBad { fail, skip };
enum class OnLong { fail, skip, truncate };
struct Data {
  std::filesystem::path train;         // empty only when train.steps is 0
  std::int64_t sequence_length = 512;  // most tokens of a sample, and of a packed sequence
  bool packing = true;
  bool shuffle = true;
  OnBad on_bad_sample = OnBad::fail;
  OnLong on_long_sample = OnLong::fail;
  bool operator==(const Data&) const = default;
};
enum class Loss { per_token, per_sample, per_microbatch };
enum class OnNonfinite { stop, skip };
struct Train {
  std::int64_t steps = 0;            // 0: export only
  std::int64_t microbatches = 1;     // per domain and step
  std::int64_t microbatch_size = 1;  // packed sequences (packing) or samples in a microbatch
  std::string precision = "fp32";
  Loss loss = Loss::per_token;                   // what weighs alike over the global batch
  std::int64_t loss_chunk = 256;                 // tokens whose logits exist at a time
  OnNonfinite on_nonfinite = OnNonfinite::stop;  // a step whose gradient is not finite
  std::uint64_t seed = 1;                        // at most 2^63 - 1
  bool operator==(const Train&) const = default;
};
enum class NormType { one, two, infinity };
struct Optimizer {
  std::string kind = "adamw";  // "adamw", "sgd"
  double learning_rate = 1e-4;
  std::string decay = "cosine";  // after warm-up: "cosine", "linear", "constant"
  double min_learning_rate = 0.0;
  std::int64_t warmup_steps = 0;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weight_decay = 0.0;
  double momentum = 0.0;               // sgd
  std::optional<double> clip_norm;     // none: no clipping
  NormType norm_type = NormType::two;  // of the global gradient norm
  bool operator==(const Optimizer&) const = default;
};
struct Schedule {
  std::string kind = "hairpin-adaptive";  // default of a job without [split]: "1f1b"
  bool split_backward = false;            // zb-h1 is so always
  // Of hairpin-adaptive; default: true. False: the order chosen after the first steps stays.
  std::optional<bool> adapt;
  std::optional<std::int64_t> max_in_flight;  // microbatches, on each stage of a rank; none: no cap
  bool operator==(const Schedule&) const = default;
};
struct Site {
  std::optional<std::filesystem::path> keys;   // cert.pem, key.pem, ca.pem
  std::optional<std::filesystem::path> model;  // this site's own half; default: model.path
  std::int64_t threads = 1;                    // compute threads per rank
  // Decoder layers per pipeline rank, at least one entry, each >= 0; [site] only.
  std::optional<std::vector<std::int64_t>> pipeline;
  std::int64_t tensor_parallel = 1;  // ranks that share each weight matrix
  std::int64_t data_parallel = 1;    // replicas
  bool sequence_parallel = false;    // only with tensor_parallel > 1
  std::int64_t zero = 0;             // 0; 1: each replica holds its part of the optimizer's state
  bool overlap_grad_reduce = true;   // sum gradients over the replicas while backward runs
  bool overlap_param_gather = true;  // gather parameters (zero = 1) while forward runs
  bool operator==(const Site&) const = default;
};
struct Link {
  std::string address = "127.0.0.1:7461";  // the cloud listens, the edge dials; see address.h
  std::string codec = "fp32";              // of what crosses, unless its own key says otherwise
  // By kind and direction: up is edge to cloud. None: codec.
  std::optional<std::string> codec_activation_up, codec_gradient_up;
  std::optional<std::string> codec_activation_down, codec_gradient_down;
  std::int64_t connections = 4;    // parallel, the same number on both sites
  bool insecure_loopback = false;  // no TLS; 127.0.0.1 only
  double connect_timeout = 60.0;   // seconds the edge goes on dialling
  double peer_timeout = 8.0;       // seconds without a byte until the peer counts as dead; >= 2,
                                   // since heartbeats come every second
  bool operator==(const Link&) const = default;
};
struct Output {
  std::filesystem::path directory;
  bool trace = false;  // write trace.json
  bool operator==(const Output&) const = default;
};

struct Job {
  std::filesystem::path file;  // where it was read from
  Model model;
  std::optional<Split> split;  // none: one site
  Data data;
  Train train;
  Optimizer optimizer;
  Schedule schedule;
  Site edge, cloud;  // only with a split
  Site site;         // only without one
  Link link;         // only with a split
  Output output;
  bool operator==(const Job&) const = default;
};

// As a job file has them: "per_sample", "skip", "inf".
std::string_view word_of(Loss loss);
std::string_view word_of(OnNonfinite on_nonfinite);
std::string_view word_of(NormType type);

// `overrides` are "table.key=value" texts (value in TOML syntax, or a bare word taken as a string),
// applied over the file. All relative paths are taken relative to the working directory. The first
// thing wrong is the error: "FILE:LINE: [table] key = value: what is wrong; what to do", with the
// override's text in place of FILE:LINE where it is to blame. At most 1 MiB of text is read.
Result<Job> load_job(const std::filesystem::path& file, const std::vector<std::string>& overrides);

// The same from text; `file` is only a name.
Result<Job> parse_job(std::string_view toml, const std::filesystem::path& file,
                      const std::vector<std::string>& overrides = {});

// As TOML with every key and its value, defaults included; loading it gives the same job. A key
// without a value is a comment. Tables a job of this form may not have are left out.
std::string resolved_toml(const Job& job);

}  // namespace hairpin::config

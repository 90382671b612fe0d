// A job file as plain structs. Every field has a key of the same name in its table; docs/config.md
// is the reference. Loading checks types, ranges and unknown keys; what needs the model or the data
// (sums of layers, vocabulary, ...) is checked by who owns those.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "hairpin/base/result.h"

namespace hairpin::config {

struct Model {
  std::filesystem::path path;  // Hugging Face directory, whole or the edge's half of a split
};
struct Split {
  std::vector<std::int64_t> layers;  // edge head, cloud ..., edge tail
  bool allow_plaintext_cut = false;
};
enum class OnBad { fail, skip };
enum class OnLong { fail, skip, truncate };
struct Data {
  std::filesystem::path train;
  std::optional<std::filesystem::path> eval;
  std::int64_t sequence_length = 512;  // most tokens of a sample, and of a packed sequence
  bool packing = true;
  bool shuffle = true;
  OnBad on_bad_sample = OnBad::fail;
  OnLong on_long_sample = OnLong::fail;
};
struct Train {
  std::int64_t steps = 0;
  std::int64_t microbatches = 1;     // per domain and step
  std::int64_t microbatch_size = 1;  // packed sequences (packing) or samples in a microbatch
  std::string precision = "fp32";
  std::string loss = "per_token";
  std::int64_t loss_chunk = 256;     // tokens whose logits exist at a time
  std::uint64_t seed = 1;
};
struct Optimizer {
  std::string kind = "adamw";  // "adamw", "sgd"
  double learning_rate = 1e-4;
  std::string decay = "cosine";  // after warm-up: "cosine", "linear", "constant"
  double min_learning_rate = 0.0;
  std::int64_t warmup_steps = 0;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weight_decay = 0.0;
  double momentum = 0.0;                // sgd
  std::optional<double> clip_norm;      // none: no clipping
};
struct Schedule {
  std::string kind = "hairpin-1f1b";
};
struct Site {
  std::optional<std::filesystem::path> keys;   // cert.pem, key.pem, ca.pem
  std::optional<std::filesystem::path> model;  // this site's own half; default: model.path
  std::int64_t threads = 1;                    // compute threads per rank
};
struct Link {
  std::string address = "127.0.0.1:7461";  // the cloud listens, the edge dials
  std::string codec = "fp32";
  bool insecure_loopback = false;          // no TLS; 127.0.0.1 only
  double connect_timeout = 60.0;           // seconds the edge goes on dialling
  double peer_timeout = 8.0;               // seconds without a byte until the peer counts as dead
};
struct Output {
  std::filesystem::path directory;
};

struct Job {
  std::filesystem::path file;  // where it was read from
  Model model;
  std::optional<Split> split;  // none: one site, one rank
  Data data;
  Train train;
  Optimizer optimizer;
  Schedule schedule;
  Site edge, cloud, site;      // `site` for runs without a split
  Link link;
  Output output;
};

// `overrides` are "table.key=value" texts (value in TOML syntax, or a bare word taken as a string),
// applied over the file. All relative paths are taken relative to the working directory.
Result<Job> load_job(const std::filesystem::path& file, const std::vector<std::string>& overrides);

// As TOML with every key and its value, defaults included; loading it gives the same job.
std::string resolved_toml(const Job& job);

}  // namespace hairpin::config

// A model's architecture as its Hugging Face config.json states it, and the tensors it is made of.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "hairpin/base/result.h"

namespace hairpin::arch {

// Sizes and options of a dense decoder (Llama, Qwen2). Names are config.json's.
struct Architecture {
  std::string model_type;  // "llama", "qwen2"
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t num_hidden_layers = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t num_key_value_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t vocab_size = 0;
  std::int64_t max_position_embeddings = 0;
  double rms_norm_eps = 1e-6;
  double rope_theta = 10000.0;
  bool tie_word_embeddings = false;
  bool qkv_bias = false;     // bias on q, k and v (Qwen2; Llama with attention_bias)
  bool output_bias = false;  // bias on o (Llama with attention_bias)
};

// Reads DIR/config.json. Unknown architectures and options that would change the computation are
// refused by name; inert keys (use_cache, pretraining_tp, ...) are not. Old and new spellings are
// read (rope_theta / rope_parameters, torch_dtype / dtype).
Result<Architecture> read_architecture(const std::filesystem::path& model_directory);
Result<Architecture> parse_architecture(const std::string& config_json, const std::string& where);

// One Hugging Face tensor.
struct TensorSpec {
  std::string name;  // "model.layers.0.self_attn.q_proj.weight"
  std::vector<std::int64_t> shape;
};

// The unit of placement and of recomputation: the embedding, one decoder layer, or final norm +
// output head. A model is the list [embedding, layer 0, ..., layer L-1, head]; a segment's index
// in it is its place in "model order".
struct SegmentSpec {
  enum class Kind { embedding, layer, head };
  Kind kind = Kind::layer;
  std::int64_t layer = -1;          // for Kind::layer
  std::vector<TensorSpec> tensors;  // with tied embeddings the head does not list lm_head.weight
};
std::vector<SegmentSpec> segments(const Architecture& architecture);

// How many segments of the model order each logical stage holds: stage s owns segments
// [begin, end). `layers` are decoder layers per logical stage (edge head, cloud ..., edge tail);
// the embedding goes to the first, the head to the last.
struct SegmentRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};
Result<std::vector<SegmentRange>> place(const std::vector<std::int64_t>& layers,
                                        std::int64_t num_hidden_layers);

}  // namespace hairpin::arch

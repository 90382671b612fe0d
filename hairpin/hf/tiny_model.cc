#include "hairpin/hf/tiny_model.h"

#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "hairpin/base/check.h"
#include "hairpin/base/file.h"
#include "hairpin/base/random.h"
#include "hairpin/hf/model_directory.h"

namespace hairpin::hf {
namespace {

std::string config_json(const TinyModelOptions& o) {
  nlohmann::ordered_json config;
  const bool qwen2 = o.model_type == "qwen2";
  config["architectures"] = {qwen2 ? "Qwen2ForCausalLM" : "LlamaForCausalLM"};
  config["model_type"] = o.model_type;
  config["vocab_size"] = o.vocab;
  config["hidden_size"] = o.hidden;
  config["intermediate_size"] = o.intermediate;
  config["num_hidden_layers"] = o.layers;
  config["num_attention_heads"] = o.heads;
  config["num_key_value_heads"] = o.kv_heads;
  config["hidden_act"] = "silu";
  config["max_position_embeddings"] = o.max_positions;
  config["rms_norm_eps"] = 1e-6;
  config["rope_theta"] = 10000.0;
  config["tie_word_embeddings"] = o.tied;
  config["bos_token_id"] = 1;
  config["eos_token_id"] = 2;
  config["torch_dtype"] = o.dtype == DType::f32    ? "float32"
                          : o.dtype == DType::bf16 ? "bfloat16"
                                                   : "float16";
  return config.dump(2) + "\n";
}

// The sum of twelve uniforms less six: near enough to normal, and only additions, so that every
// machine draws the same bits.
double near_normal(Random& random) {
  double sum = -6.0;
  for (int i = 0; i < 12; ++i) sum += random.unit();
  return sum;
}

// Nearest, ties to even. Finite values below the type's largest only.
std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}
std::uint16_t to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = bits >> 16 & 0x8000;
  const auto magnitude = bits & 0x7fffffff;
  if (magnitude < 0x38800000)  // subnormal in F16: a multiple of 2^-24
    return static_cast<std::uint16_t>(
        sign | static_cast<std::uint32_t>(std::nearbyint(std::fabs(value) * 0x1p24f)));
  const auto rounded = magnitude + 0xfff + ((magnitude >> 13) & 1);
  return static_cast<std::uint16_t>(sign | ((rounded - (112u << 23)) >> 13));
}

Bytes random_bytes(const safetensors::TensorInfo& info, std::uint64_t seed) {
  const bool norm = info.name.ends_with("norm.weight");
  const bool bias = info.name.ends_with(".bias");
  const bool embedding = info.name.starts_with("model.embed_tokens");
  const double deviation = norm || embedding ? 0.1 : bias ? 0.05 : 0.08;
  std::size_t count = 1;
  for (const auto extent : info.shape) count *= static_cast<std::size_t>(extent);
  Random random(derive_seed(seed, info.name));
  Bytes bytes;
  ByteWriter writer(bytes);
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>((norm ? 1.0 : 0.0) + deviation * near_normal(random));
    if (info.dtype == DType::f32)
      writer.number(value);
    else
      writer.number(info.dtype == DType::bf16 ? to_bf16(value) : to_f16(value));
  }
  return bytes;
}

}  // namespace

Result<void> write_tiny_model(const std::filesystem::path& directory,
                              const TinyModelOptions& options) {
  HAIRPIN_CHECK(
      options.dtype == DType::f32 || options.dtype == DType::bf16 || options.dtype == DType::f16,
      "a model in {}", dtype_name(options.dtype));
  const auto config = config_json(options);
  HAIRPIN_TRY(const auto architecture, arch::parse_architecture(config, "the tiny model"));
  std::vector<safetensors::Source> sources;
  Bytes current;
  for (auto& spec : tensors_of(architecture)) {
    const safetensors::TensorInfo info{spec.name, options.dtype, spec.shape};
    sources.push_back({info, [info, &current, &options]() -> Result<ByteSpan> {
                         current = random_bytes(info, options.seed);
                         return ByteSpan(current);
                       }});
  }
  std::error_code code;
  std::filesystem::create_directories(directory, code);
  HAIRPIN_CHECK_OK(write_file_atomic(directory / "config.json", as_byte_span(config)));
  return safetensors::write_model(directory, std::move(sources), options.max_shard_bytes);
}

}  // namespace hairpin::hf

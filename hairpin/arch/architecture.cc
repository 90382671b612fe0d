#include "hairpin/arch/architecture.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "hairpin/arch/config_keys.h"
#include "hairpin/base/file.h"
#include "hairpin/json/parse.h"

namespace hairpin::arch {
namespace {

using nlohmann::json;

struct Family {
  std::string_view model_type;
  std::string_view architecture;         // the one entry of "architectures"
  std::int64_t max_position_embeddings;  // transformers' default where config.json has none
};
constexpr Family kFamilies[] = {{"llama", "LlamaForCausalLM", 2048},
                                {"qwen2", "Qwen2ForCausalLM", 32768}};
constexpr std::string_view kSupported = "LlamaForCausalLM (llama) and Qwen2ForCausalLM (qwen2)";

// One object of a config.json. Remembers which keys were asked for, so that the rest can be
// refused.
class Keys {
 public:
  Keys(const json& object, std::string prefix, std::string_view where)
      : object_(object), prefix_(std::move(prefix)), where_(where) {}

  // Null when absent or null, which `transformers` treats alike.
  const json* find(const std::string& key) {
    known_.insert(key);
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  bool present(const std::string& key) { return find(key) != nullptr; }

  // An integer in [1, max].
  Result<std::int64_t> size(const std::string& key, std::int64_t max,
                            std::optional<std::int64_t> absent = std::nullopt) {
    const auto* value = find(key);
    if (!value && absent) return *absent;
    if (!value) return bad_input("{}: {} is missing; it has no default", where_, prefix_ + key);
    if (!value->is_number_unsigned() || value->get<std::uint64_t>() < 1 ||
        value->get<std::uint64_t>() > static_cast<std::uint64_t>(max))
      return wrong(key, *value, fmt::format("must be an integer from 1 to {}", max));
    return value->get<std::int64_t>();
  }
  Result<double> positive(const std::string& key, double absent) {
    const auto* value = find(key);
    if (!value) return absent;
    if (!value->is_number() || !std::isfinite(value->get<double>()) || value->get<double>() <= 0)
      return wrong(key, *value, "must be a positive number");
    return value->get<double>();
  }
  Result<bool> flag(const std::string& key, bool absent) {
    const auto* value = find(key);
    if (!value) return absent;
    if (!value->is_boolean()) return wrong(key, *value, "must be true or false");
    return value->get<bool>();
  }
  Result<std::string> text(const std::string& key, const std::string& absent) {
    const auto* value = find(key);
    if (!value) return absent;
    if (!value->is_string()) return wrong(key, *value, "must be a text");
    return value->get<std::string>();
  }
  tl::unexpected<Error> wrong(const std::string& key, const json& value, std::string_view what) {
    return bad_input("{}: {} = {}: {}", where_, prefix_ + key, hairpin::json::brief(value), what);
  }

  // Every key must have been asked for, be harmless with its value, or be inert.
  Result<void> refuse_the_rest() {
    for (const auto& [key, value] : object_.items()) {
      HAIRPIN_TRY(const bool harmless, check_option(key, value, where_));
      if (!harmless && !known_.contains(key) && !(prefix_.empty() && is_inert(key)))
        return unknown_option(prefix_ + key, known_, where_);
    }
    return {};
  }

 private:
  const json& object_;
  std::string prefix_;  // "" or "rope_parameters."
  std::string_view where_;
  std::set<std::string> known_;
};

Result<Family> read_family(Keys& keys, std::string_view where) {
  HAIRPIN_TRY(const auto type, keys.text("model_type", ""));
  const json* names = keys.find("architectures");
  if (type.empty())
    return bad_input("{}: model_type is missing; give the directory of a Hugging Face model",
                     where);
  for (const auto& family : kFamilies) {
    if (family.model_type != type) continue;
    if (names && *names != json::array({family.architecture}))
      return keys.wrong("architectures", *names,
                        fmt::format("not supported; supported are {}", kSupported));
    return family;
  }
  return keys.wrong("model_type", type, fmt::format("not supported; supported are {}", kSupported));
}

// The old spelling is rope_theta beside rope_scaling, the new one rope_parameters with both in it.
Result<double> read_rope_theta(Keys& keys, std::string_view where) {
  constexpr double kDefault = 10000.0;
  HAIRPIN_TRY(auto theta, keys.positive("rope_theta", kDefault));
  bool stated = keys.present("rope_theta");
  for (const std::string name : {"rope_parameters", "rope_scaling"}) {
    const auto* value = keys.find(name);
    if (!value) continue;
    if (!value->is_object()) return keys.wrong(name, *value, "must be an object");
    Keys rope(*value, name + ".", where);
    for (const std::string key : {"rope_type", "type"}) {
      HAIRPIN_TRY(const auto type, rope.text(key, "default"));
      if (type != "default")
        return rope.wrong(key, type,
                          "this scaling of rotary positions is not supported; only \"default\" is");
    }
    HAIRPIN_TRY(const auto inner, rope.positive("rope_theta", theta));
    if (stated && inner != theta)
      return rope.wrong("rope_theta", inner,
                        fmt::format("contradicts the {} stated elsewhere", theta));
    stated = stated || rope.present("rope_theta");
    theta = inner;
    HAIRPIN_CHECK_OK(rope.refuse_the_rest());
  }
  return theta;
}

// Refuses attention over a window, in any of its spellings. A window that no layer uses is fine.
Result<void> check_full_attention(Keys& keys, const Architecture& architecture) {
  const auto layers = static_cast<std::size_t>(architecture.num_hidden_layers);
  if (const auto* types = keys.find("layer_types")) {
    if (!types->is_array() || types->size() != layers)
      return keys.wrong("layer_types", *types, fmt::format("must have {} entries", layers));
    for (std::size_t i = 0; i < layers; ++i)
      if ((*types)[i] != "full_attention")
        return keys.wrong(fmt::format("layer_types[{}]", i), (*types)[i],
                          "not supported; only \"full_attention\" is");
  }
  if (architecture.model_type != "qwen2") {
    if (const auto* window = keys.find("sliding_window"))
      return keys.wrong("sliding_window", *window, "sliding-window attention is not supported");
    return {};
  }
  HAIRPIN_TRY(const bool used, keys.flag("use_sliding_window", false));
  const bool window = keys.present("sliding_window");
  const auto* first = keys.find("max_window_layers");  // the layers below it attend to everything
  if (first && !first->is_number_integer())
    return keys.wrong("max_window_layers", *first, "must be an integer");
  const auto full_layers = first ? first->get<std::int64_t>() : 28;
  if (used && window && !keys.present("layer_types") &&
      full_layers < architecture.num_hidden_layers)
    return keys.wrong("use_sliding_window", true, "sliding-window attention is not supported");
  return {};
}

Result<void> read_biases(Keys& keys, Architecture& architecture) {
  const bool qwen2 = architecture.model_type == "qwen2";
  HAIRPIN_TRY(const bool bias, keys.flag("attention_bias", qwen2));
  if (qwen2 && !bias)
    return keys.wrong("attention_bias", false,
                      "Qwen2 always has biases on q, k and v; remove the key");
  architecture.qkv_bias = bias;
  architecture.output_bias = bias && !qwen2;
  return {};
}

Result<void> read_heads(Keys& keys, Architecture& a) {
  HAIRPIN_TRY(a.num_attention_heads, keys.size("num_attention_heads", 1 << 16));
  HAIRPIN_TRY(a.num_key_value_heads,
              keys.size("num_key_value_heads", 1 << 16, a.num_attention_heads));
  if (a.num_attention_heads % a.num_key_value_heads != 0)
    return keys.wrong(
        "num_key_value_heads", a.num_key_value_heads,
        fmt::format("doesn't divide num_attention_heads = {}", a.num_attention_heads));
  const bool stated = keys.present("head_dim");
  if (a.hidden_size % a.num_attention_heads != 0 && (!stated || a.model_type == "llama"))
    return keys.wrong("num_attention_heads", a.num_attention_heads,
                      fmt::format("doesn't divide hidden_size = {}", a.hidden_size));
  HAIRPIN_TRY(a.head_dim,
              keys.size("head_dim", 1 << 16,
                        std::max<std::int64_t>(1, a.hidden_size / a.num_attention_heads)));
  if (a.head_dim % 2 != 0)
    return keys.wrong("head_dim", a.head_dim, "must be even, rotary positions turn pairs");
  return {};
}

Result<void> read_sizes(Keys& keys, const Family& family, Architecture& a) {
  HAIRPIN_TRY(a.hidden_size, keys.size("hidden_size", 1 << 20));
  HAIRPIN_TRY(a.intermediate_size, keys.size("intermediate_size", 1 << 22));
  HAIRPIN_TRY(a.num_hidden_layers, keys.size("num_hidden_layers", 1 << 12));
  HAIRPIN_TRY(a.vocab_size, keys.size("vocab_size", 1 << 26));
  HAIRPIN_TRY(a.max_position_embeddings, keys.size("max_position_embeddings", std::int64_t{1} << 40,
                                                   family.max_position_embeddings));
  HAIRPIN_TRY(a.rms_norm_eps, keys.positive("rms_norm_eps", 1e-6));
  HAIRPIN_TRY(a.tie_word_embeddings, keys.flag("tie_word_embeddings", false));
  return read_heads(keys, a);
}

}  // namespace

Result<Architecture> parse_architecture(const std::string& config_json, const std::string& where) {
  HAIRPIN_TRY(const auto document, hairpin::json::parse(config_json, where));
  if (!document.is_object()) return bad_input("{}: is not a JSON object", where);
  Keys keys(document, "", where);
  HAIRPIN_TRY(const auto family, read_family(keys, where));
  Architecture architecture;
  architecture.model_type = family.model_type;
  HAIRPIN_CHECK_OK(read_sizes(keys, family, architecture));
  HAIRPIN_CHECK_OK(read_biases(keys, architecture));
  HAIRPIN_TRY(architecture.rope_theta, read_rope_theta(keys, where));
  HAIRPIN_CHECK_OK(check_full_attention(keys, architecture));
  HAIRPIN_CHECK_OK(keys.refuse_the_rest());
  return architecture;
}

Result<Architecture> read_architecture(const std::filesystem::path& model_directory) {
  const auto path = model_directory / "config.json";
  HAIRPIN_TRY(const auto text, read_text_file(path, std::uint64_t{16} << 20));
  return parse_architecture(text, path.string());
}

}  // namespace hairpin::arch

#include "hairpin/arch/config_keys.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "hairpin/base/nearest.h"
#include "hairpin/json/parse.h"

namespace hairpin::arch {
namespace {

using nlohmann::json;

const std::set<std::string, std::less<>>& inert_keys() {
  static const std::set<std::string, std::less<>> keys = {
      // names, versions and bookkeeping
      "_name_or_path", "_model_name_or_path", "name_or_path", "_commit_hash", "architectures",
      "transformers_version", "transformers.js_config", "transformers_weights", "tokenizer_class",
      "torch_dtype", "dtype", "is_llama_config", "unsloth_fixed", "unsloth_version",
      "task_specific_params", "finetuning_task", "problem_type", "id2label", "label2id",
      "num_labels", "prefix", "license",
      // how it is run, not what it computes
      "use_cache", "pretraining_tp", "initializer_range", "torchscript", "use_bfloat16",
      "output_attentions", "output_hidden_states", "output_scores", "return_dict",
      "return_dict_in_generate", "chunk_size_feed_forward", "attn_implementation",
      "_attn_implementation", "_attn_implementation_autoset", "_flash_attn_2_enabled",
      "tf_legacy_loss", "max_sequence_length", "gradient_checkpointing",
      // token ids
      "bos_token_id", "eos_token_id", "pad_token_id", "unk_token_id", "sep_token_id",
      "decoder_start_token_id", "forced_bos_token_id", "forced_eos_token_id",
      // generation settings that old configs carry
      "max_length", "min_length", "do_sample", "early_stopping", "num_beams", "num_beam_groups",
      "diversity_penalty", "temperature", "top_k", "top_p", "typical_p", "repetition_penalty",
      "length_penalty", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "bad_words_ids",
      "num_return_sequences", "remove_invalid_values", "exponential_decay_length_penalty",
      "suppress_tokens", "begin_suppress_tokens", "max_new_tokens",
      // of encoders and cross attention, which a decoder has not
      "is_decoder", "tie_encoder_decoder", "cross_attention_hidden_size"};
  return keys;
}

// An option with the one value that Hairpin computes. `null` counts as absent.
struct Option {
  std::string key;
  json supported;
  std::string_view otherwise;  // what to say to any other value
};
const std::vector<Option>& options() {
  static const std::vector<Option> all = {
      {"hidden_act", "silu", "only silu is supported"},
      {"mlp_bias", false, "biases in the MLP are not supported"},
      {"attention_dropout", 0, "dropout is not supported; set it to 0.0"},
      {"partial_rotary_factor", 1, "rotating only a part of each head is not supported"},
      {"rope_interleaved", false, "interleaved rotary pairs are not supported"},
      {"use_mrope", false, "multi-axis rotary positions are not supported"},
      {"is_encoder_decoder", false, "only decoders are supported"},
      {"add_cross_attention", false, "cross attention is not supported"},
      {"pruned_heads", json::object(), "pruned heads are not supported"},
      {"quantization_config", nullptr,
       "quantized weights can't be trained; give the model in F32, BF16 or F16"},
      {"auto_map", nullptr,
       "Hairpin doesn't run a model's own code; remove it if the model is the stock one"},
  };
  return all;
}

}  // namespace

bool is_inert(std::string_view key) { return inert_keys().contains(key); }

Result<bool> check_option(std::string_view key, const json& value, std::string_view where) {
  const auto option = std::ranges::find(options(), key, &Option::key);
  if (option == options().end()) return false;
  if (!value.is_null() && value != option->supported)
    return bad_input("{}: {} = {}: {}", where, key, hairpin::json::brief(value), option->otherwise);
  return true;
}

tl::unexpected<Error> unknown_option(std::string_view key, const std::set<std::string>& known,
                                     std::string_view where) {
  std::vector<std::string> candidates(known.begin(), known.end());
  for (const auto& option : options()) candidates.push_back(option.key);
  candidates.insert(candidates.end(), inert_keys().begin(), inert_keys().end());
  const auto nearest = nearest_word(key, candidates);
  return bad_input(
      "{}: unknown option \"{}\", which may change what the model computes; {}remove it if it "
      "doesn't",
      where, key, nearest ? "did you mean \"" + *nearest + "\"? Else " : "");
}

}  // namespace hairpin::arch

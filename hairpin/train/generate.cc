#include "hairpin/train/generate.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/argmax.h>

#include <algorithm>

#include "hairpin/tokenizer/tokenizer.h"
#include "hairpin/train/whole_model.h"

namespace hairpin::train {
namespace {

// One sequence that grows token by token.
class Sequence {
 public:
  Sequence(WholeModel& model, std::int64_t capacity) : model_(model) {
    const auto& a = model.directory.architecture;
    const nn::HeadShape shape{a.num_attention_heads, a.num_key_value_heads, a.head_dim};
    for (std::int64_t i = 0; i < model.num_segments(); ++i) caches_.emplace_back(capacity, shape);
  }

  // Appends tokens and returns the likeliest next one; of equals the one with the lowest id.
  std::int32_t extend(std::vector<std::int32_t> tokens) {
    const at::NoGradGuard no_grad;
    models::MicrobatchInput input;
    input.tokens = std::move(tokens);
    Tensor x;
    for (std::int64_t i = 0; i < model_.num_segments(); ++i)
      x = model_.part->segment(i).extend(x, input, caches_[static_cast<std::size_t>(i)]);
    return static_cast<std::int32_t>(at::argmax(x).item<std::int64_t>());
  }

 private:
  WholeModel& model_;
  std::vector<nn::KeyValueCache> caches_;
};

using Prompt = std::vector<std::int32_t>;

// All prompts as token ids, and the longest sequence that they and their answers can make.
struct Prompts {
  std::vector<Prompt> tokens;
  std::int64_t longest = 0;
};
Result<Prompts> render(const WholeModel& model, const GenerateOptions& options) {
  const auto most = model.directory.architecture.max_position_embeddings;
  Prompts prompts;
  for (const auto& text : options.prompts) {
    const std::vector<tokenizer::Message> chat{{tokenizer::Role::user, text}};
    HAIRPIN_TRY(auto tokens, model.tokenizer.render_prompt(chat));
    const auto length = static_cast<std::int64_t>(tokens.size());
    if (length + options.max_tokens > most)
      return bad_input(
          "a prompt of {} tokens and an answer of {} don't fit the model's {} positions; shorten "
          "the prompt or lower --max-tokens",
          length, options.max_tokens, most);
    prompts.longest = std::max(prompts.longest, length + options.max_tokens);
    prompts.tokens.push_back(std::move(tokens));
  }
  return prompts;
}

Answer answer(WholeModel& model, const std::string& prompt, const Prompt& tokens,
              std::int64_t max_tokens) {
  Answer result{.prompt = prompt, .prompt_tokens = static_cast<std::int64_t>(tokens.size())};
  const auto& stops = model.tokenizer.stop_ids();
  std::vector<std::int32_t> generated;
  Sequence sequence(model, result.prompt_tokens + max_tokens);
  auto next = sequence.extend(tokens);
  while (result.tokens < max_tokens) {
    ++result.tokens;
    result.finished = std::find(stops.begin(), stops.end(), next) != stops.end();
    if (result.finished) break;
    generated.push_back(next);
    if (result.tokens < max_tokens) next = sequence.extend({next});
  }
  result.text = model.tokenizer.tokenizer().decode(generated, true);
  return result;
}

}  // namespace

Result<std::vector<Answer>> generate(const GenerateOptions& options) {
  HAIRPIN_TRY(auto model, open_whole(options.model));
  HAIRPIN_TRY(const auto prompts, render(model, options));
  load_weights(model, prompts.longest, options.threads);
  std::vector<Answer> answers;
  for (std::size_t i = 0; i < prompts.tokens.size(); ++i)
    answers.push_back(answer(model, options.prompts[i], prompts.tokens[i], options.max_tokens));
  return answers;
}

}  // namespace hairpin::train

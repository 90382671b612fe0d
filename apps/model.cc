#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "apps/commands.h"

namespace hairpin::apps {

Result<void> eval(const EvalOptions& options) {
  HAIRPIN_TRY(const auto result, train::evaluate(options.evaluate));
  if (options.json) {
    const nlohmann::ordered_json line = {{"loss", result.loss},
                                         {"samples", result.samples},
                                         {"tokens", result.tokens},
                                         {"trained_tokens", result.trained_tokens}};
    fmt::print("{}\n", line.dump());
  } else {
    fmt::print("loss {:.4f} over {} trained tokens of {} samples\n", result.loss,
               result.trained_tokens, result.samples);
  }
  return {};
}

Result<void> generate(const GenerateOptions& options) {
  HAIRPIN_TRY(const auto answers, train::generate(options.generate));
  for (const auto& answer : answers) {
    if (options.json) {
      const nlohmann::ordered_json line = {{"prompt", answer.prompt},
                                           {"answer", answer.text},
                                           {"prompt_tokens", answer.prompt_tokens},
                                           {"tokens", answer.tokens},
                                           {"finished", answer.finished}};
      fmt::print("{}\n", line.dump());
    } else {
      fmt::print("{}\n", answer.text);
    }
  }
  return {};
}

}  // namespace hairpin::apps

// Greedy answers to a chat prompt, with a key/value cache.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "hairpin/base/result.h"

namespace hairpin::train {

struct GenerateOptions {
  std::filesystem::path model;
  std::vector<std::string> prompts;  // each the one user message of a chat
  std::int64_t max_tokens = 64;      // of an answer
  int threads = 1;
};

struct Answer {
  std::string prompt;
  std::string text;  // without the end-of-turn token
  std::int64_t prompt_tokens = 0;
  std::int64_t tokens = 0;  // generated, the end-of-turn token included
  bool finished = false;    // ended by itself, not by max_tokens
};

Result<std::vector<Answer>> generate(const GenerateOptions& options);

}  // namespace hairpin::train

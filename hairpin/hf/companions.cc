#include "hairpin/hf/companions.h"

#include "hairpin/base/file.h"

namespace hairpin::hf {
namespace {

constexpr const char* kCompanions[] = {"generation_config.json",
                                       "tokenizer.json",
                                       "tokenizer_config.json",
                                       "tokenizer.model",
                                       "special_tokens_map.json",
                                       "added_tokens.json",
                                       "vocab.json",
                                       "merges.txt",
                                       "chat_template.jinja",
                                       "chat_template.json",
                                       "LICENSE",
                                       "LICENSE.txt",
                                       "NOTICE",
                                       "USE_POLICY.md"};

}  // namespace

std::vector<std::filesystem::path> companion_files(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  std::error_code code;
  for (const auto* name : kCompanions)
    if (std::filesystem::is_regular_file(directory / name, code)) files.emplace_back(name);
  return files;
}

Result<void> copy_bytes(const std::filesystem::path& from, const std::filesystem::path& to) {
  HAIRPIN_TRY(const auto file, MappedFile::open(from));
  return write_file_atomic(to, file.bytes());
}

}  // namespace hairpin::hf

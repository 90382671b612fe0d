// make_tiny model DIR: a tiny model that can be trained, with its tokenizer, in a new directory.
// make_tiny keys DIR:  good/ and expired/, each with edge/ and cloud/, all of one authority.
#include <fmt/core.h>

#include <string_view>

#include "hairpin/base/result.h"
#include "hairpin/hf/tiny_model.h"
#include "hairpin/link/certificate.h"
#include "hairpin/tokenizer/tiny_tokenizer.h"

namespace hairpin {
namespace {

namespace fs = std::filesystem;

Result<void> make_model(const fs::path& directory) {
  hf::TinyModelOptions options;
  options.layers = 4;
  options.hidden = 32;
  options.intermediate = 64;
  options.heads = 2;
  options.kv_heads = 1;
  options.vocab = tokenizer::kTinyVocabularySize;
  options.max_positions = 256;
  HAIRPIN_CHECK_OK(hf::write_tiny_model(directory, options));
  return tokenizer::write_tiny_tokenizer(directory);
}

Result<void> make_keys(const fs::path& directory) {
  const auto authority = link::CertificateAuthority::create();
  const link::Validity past{.starts_in_days = -30, .days = 10};
  for (const auto role : {wire::Role::edge, wire::Role::cloud})
    for (const bool expired : {false, true}) {
      const auto place = directory / (expired ? "expired" : "good") / wire::role_name(role);
      fs::create_directories(place);
      HAIRPIN_CHECK_OK(authority.issue(place, role, expired ? past : link::Validity{}));
    }
  return {};
}

int run(int argc, char** argv) {
  const std::string_view what = argc == 3 ? argv[1] : "";
  if (what != "model" && what != "keys") {
    fmt::print(stderr, "usage: make_tiny model|keys DIR\n");
    return 2;
  }
  const auto made = what == "model" ? make_model(argv[2]) : make_keys(argv[2]);
  if (!made) fmt::print(stderr, "make_tiny: {}\n", made.error().message);
  return made ? 0 : 1;
}

}  // namespace
}  // namespace hairpin

int main(int argc, char** argv) { return hairpin::run(argc, argv); }

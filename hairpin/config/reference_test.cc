// docs/config.md holds the reference that the program itself states, word for word.
#include "hairpin/config/reference.h"

#include <gtest/gtest.h>

#include "hairpin/base/file.h"
#include "hairpin/config/job.h"

namespace hairpin::config {
namespace {

std::string document() {
  return read_text_file(std::filesystem::path(HAIRPIN_SOURCE_DIR) / "docs/config.md").value();
}

TEST(ReferenceTest, TheDocumentEndsWithTheReference) {
  const auto text = document();
  const auto reference = reference_markdown();
  EXPECT_TRUE(text.ends_with(reference)) << "put this at the end of docs/config.md:\n" << reference;
}

TEST(ReferenceTest, TheDocumentsExamplesLoad) {
  const auto text = document();
  std::size_t examples = 0;
  for (std::size_t at = 0; (at = text.find("```toml\n", at)) != std::string::npos; ++examples) {
    const auto begin = at + 8;
    at = text.find("```\n", begin);
    const auto job = parse_job(text.substr(begin, at - begin), "docs/config.md");
    EXPECT_TRUE(job) << job.error().message;
  }
  EXPECT_EQ(examples, 2u);
}

}  // namespace
}  // namespace hairpin::config

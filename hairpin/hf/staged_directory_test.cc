#include "hairpin/hf/staged_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hairpin/base/file.h"
#include "hairpin/base/temporary_directory.h"

namespace hairpin::hf {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

void put(const fs::path& path) { ASSERT_TRUE(write_file_atomic(path, as_byte_span("x"))); }
int count(const fs::path& directory) {
  return static_cast<int>(std::distance(fs::directory_iterator(directory), {}));
}

TEST(StagedDirectory, AppearsOnCommit) {
  const TemporaryDirectory root;
  {
    auto staged = StagedDirectory::create(root / "deep/er/out/", "--out");
    ASSERT_TRUE(staged) << staged.error().message;
    put(staged->path() / "file");
    EXPECT_FALSE(fs::exists(root / "deep/er/out"));
    ASSERT_TRUE(staged->commit());
  }
  EXPECT_TRUE(fs::exists(root / "deep/er/out/file"));
  EXPECT_EQ(count(root / "deep/er"), 1);
}

TEST(StagedDirectory, LeavesNothingWithoutCommit) {
  const TemporaryDirectory root;
  {
    auto staged = StagedDirectory::create(root / "out", "--out");
    ASSERT_TRUE(staged);
    put(staged->path() / "file");
    const auto moved = std::move(*staged);
    EXPECT_TRUE(fs::exists(moved.path() / "file"));
  }
  EXPECT_EQ(count(root.path()), 0);
}

TEST(StagedDirectory, TakesAnEmptyDirectoryAndRefusesAnotherThing) {
  const TemporaryDirectory root;
  fs::create_directory(root / "empty");
  auto staged = StagedDirectory::create(root / "empty", "--out");
  ASSERT_TRUE(staged);
  ASSERT_TRUE(staged->commit());

  put(root / "empty/file");
  const auto used = StagedDirectory::create(root / "empty", "--out");
  ASSERT_FALSE(used);
  EXPECT_THAT(used.error().message, HasSubstr("--out = "));
  EXPECT_THAT(used.error().message, HasSubstr("already in use"));
  const auto file = StagedDirectory::create(root / "empty/file", "--out");
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().message, HasSubstr("not a directory"));
  EXPECT_FALSE(StagedDirectory::create(root / "empty/file/below", "--out"));
  EXPECT_EQ(count(root.path()), 1);
}

TEST(StagedDirectory, DoesNotOverwriteWhatCameMeanwhile) {
  const TemporaryDirectory root;
  {
    auto staged = StagedDirectory::create(root / "out", "--out");
    ASSERT_TRUE(staged);
    fs::create_directory(root / "out");
    put(root / "out/file");
    EXPECT_FALSE(staged->commit());
  }
  EXPECT_TRUE(fs::exists(root / "out/file"));
  EXPECT_EQ(count(root.path()), 1);
}

}  // namespace
}  // namespace hairpin::hf

#include "hairpin/base/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>

#include "hairpin/base/temporary_directory.h"

namespace hairpin {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::set<std::string> names_in(const fs::path& directory) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory))
    names.insert(entry.path().filename().string());
  return names;
}

class File : public testing::Test {
 protected:
  TemporaryDirectory directory_;
  const fs::path path_ = directory_ / "f.bin";
};

TEST_F(File, AnAtomicFileIsSeenOnceItIsCommitted) {
  ASSERT_TRUE(write_file_atomic(path_, as_byte_span("before")));
  auto file = AtomicFile::create(path_);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write(as_byte_span("af")));
  EXPECT_EQ(read_text_file(path_), "before");
  ASSERT_TRUE(file->write(as_byte_span("ter")));
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(read_text_file(path_), "after");
  EXPECT_EQ(names_in(directory_.path()), std::set<std::string>{"f.bin"});
}

TEST_F(File, WithoutACommitNothingIsLeft) {
  {
    auto file = AtomicFile::create(path_);
    ASSERT_TRUE(file && file->write(as_byte_span("half")));
    const AtomicFile moved = std::move(*file);
    EXPECT_EQ(names_in(directory_.path()).size(), 1u);  // the hidden one
    EXPECT_FALSE(fs::exists(path_));
  }
  EXPECT_TRUE(names_in(directory_.path()).empty());
}

TEST_F(File, AnAtomicFileThatCannotBeIsRefused) {
  const auto nowhere = AtomicFile::create(directory_ / "no/such/f.bin");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().kind, ErrorKind::bad_input);
  fs::create_directories(directory_ / "taken" / "by");
  EXPECT_FALSE(write_file_atomic(directory_ / "taken", as_byte_span("x")));
  EXPECT_EQ(names_in(directory_.path()), std::set<std::string>{"taken"});
}

TEST_F(File, AMapShowsTheWholeFileEvenWhenItIsReplacedOrMoved) {
  ASSERT_TRUE(write_file_atomic(path_, as_byte_span("bytes")));
  auto opened = MappedFile::open(path_);
  ASSERT_TRUE(opened);
  const MappedFile map = std::move(*opened);
  ASSERT_TRUE(write_file_atomic(path_, as_byte_span("other")));
  EXPECT_EQ(as_text(map.bytes()), "bytes");
  EXPECT_EQ(map.path(), path_);
}

TEST_F(File, AnEmptyFileMapsToNoBytes) {
  ASSERT_TRUE(write_file_atomic(path_, {}));
  const auto map = MappedFile::open(path_);
  ASSERT_TRUE(map);
  EXPECT_TRUE(map->bytes().empty());
  EXPECT_EQ(read_text_file(path_), "");
}

TEST_F(File, ATextIsReadUpToItsBoundAndNoFurther) {
  ASSERT_TRUE(write_file_atomic(path_, as_byte_span("12345")));
  EXPECT_EQ(read_text_file(path_, 5), "12345");
  const auto longer = read_text_file(path_, 4);
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().kind, ErrorKind::bad_input);
  EXPECT_THAT(longer.error().message, HasSubstr(path_.string()));
}

TEST_F(File, WhatIsNoRegularFileIsRefusedByName) {
  ASSERT_EQ(::mkfifo((directory_ / "pipe").c_str(), 0600), 0);
  // The writing end, without which opening the pipe to read would wait.
  const auto writer = ::open((directory_ / "pipe").c_str(), O_RDWR | O_CLOEXEC);
  for (const auto& name : {"missing", ".", "pipe"}) {
    const auto path = directory_ / name;
    const auto text = read_text_file(path);
    const auto map = MappedFile::open(path);
    ASSERT_FALSE(text || map) << name;
    EXPECT_EQ(text.error().kind, ErrorKind::bad_input);
    EXPECT_EQ(map.error().kind, ErrorKind::bad_input);
    EXPECT_THAT(text.error().message, HasSubstr(path.string()));
    EXPECT_THAT(map.error().message, HasSubstr(path.string()));
  }
  ::close(writer);
}

TEST_F(File, AnOutputDirectoryIsNewOrEmpty) {
  const auto deep = directory_ / "a/b/c";
  EXPECT_TRUE(check_output_directory(deep, "output.directory"));
  EXPECT_FALSE(fs::exists(deep));
  EXPECT_TRUE(create_output_directory(deep, "output.directory"));
  EXPECT_TRUE(create_output_directory(deep, "output.directory"));  // empty still
  ASSERT_TRUE(write_file_atomic(path_, as_byte_span("x")));
  for (const auto& used : {directory_.path(), path_, path_ / "below"}) {
    const auto refused = create_output_directory(used, "output.directory");
    ASSERT_FALSE(refused) << used;
    EXPECT_EQ(refused.error().kind, ErrorKind::bad_input);
    EXPECT_THAT(refused.error().message, HasSubstr("output.directory = \"" + used.string()));
  }
  EXPECT_EQ(read_text_file(path_), "x");
}

// What is private by the user's umask stays private.
TEST(AtomicFile, LeavesPermissionsToTheUmask) {
  const TemporaryDirectory directory;
  const auto before = ::umask(077);
  const auto written = write_file_atomic(directory / "f", {});
  ::umask(before);
  ASSERT_TRUE(written);
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(directory / "f").permissions(),
            perms::owner_read | perms::owner_write);
}

}  // namespace
}  // namespace hairpin

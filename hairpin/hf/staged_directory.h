// A directory that appears whole or not at all.
#pragma once

#include <filesystem>
#include <string_view>

#include "hairpin/base/result.h"

namespace hairpin::hf {

// Files are written into `path()`, a hidden directory beside the target; `commit` renames it to
// the target. Without `commit` the destructor removes it. One thread.
class StagedDirectory {
 public:
  // `key` is what the user named the target with ("--edge", "output.directory"). Refused when the
  // target exists and is not an empty directory. Missing parents are created.
  static Result<StagedDirectory> create(const std::filesystem::path& target, std::string_view key);
  StagedDirectory(StagedDirectory&& other) noexcept;
  StagedDirectory& operator=(StagedDirectory&&) = delete;
  ~StagedDirectory();

  const std::filesystem::path& path() const { return staged_; }
  const std::filesystem::path& target() const { return target_; }
  Result<void> commit();

 private:
  StagedDirectory(std::filesystem::path target, std::filesystem::path staged)
      : target_(std::move(target)), staged_(std::move(staged)) {}
  std::filesystem::path target_;
  std::filesystem::path staged_;  // empty: committed or moved from
};

}  // namespace hairpin::hf

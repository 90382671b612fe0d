#include "hairpin/hf/staged_directory.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "hairpin/base/file.h"

namespace hairpin::hf {
namespace {

namespace fs = std::filesystem;

// "out/" and "out" are the same place, but only the latter has a name and a parent.
fs::path without_trailing_slash(const fs::path& path) {
  const auto normal = path.lexically_normal();
  return normal.has_filename() ? normal : normal.parent_path();
}

}  // namespace

Result<StagedDirectory> StagedDirectory::create(const fs::path& target, std::string_view key) {
  const auto clean = fs::absolute(without_trailing_slash(target));
  HAIRPIN_CHECK_OK(check_output_directory(target, key));
  std::error_code code;
  fs::create_directories(clean.parent_path(), code);
  if (code)
    return bad_input("{} = \"{}\": cannot be created: {}", key, target.string(), code.message());
  const auto name =
      hidden_sibling(clean, [](const char* path) { return ::mkdir(path, 0777) == 0; });
  if (!name)
    return bad_input("{} = \"{}\": cannot be created: {}", key, target.string(),
                     std::strerror(errno));
  return StagedDirectory(clean, *name);
}

StagedDirectory::StagedDirectory(StagedDirectory&& other) noexcept
    : target_(std::move(other.target_)), staged_(std::exchange(other.staged_, {})) {}

StagedDirectory::~StagedDirectory() {
  std::error_code ignored;
  if (!staged_.empty()) fs::remove_all(staged_, ignored);
}

Result<void> StagedDirectory::commit() {
  HAIRPIN_CHECK_OK(sync_directory(staged_));
  // Replaces an empty directory, and fails if someone put something into it meanwhile.
  if (::rename(staged_.c_str(), target_.c_str()) != 0)
    return fail(ErrorKind::internal, "{}: cannot be committed: {}", target_.string(),
                std::strerror(errno));
  staged_.clear();
  return sync_directory(target_.parent_path());
}

}  // namespace hairpin::hf

// Files: bounded reads, read-only maps, atomic writes. Paths in error messages are as given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "hairpin/base/bytes.h"
#include "hairpin/base/result.h"

namespace hairpin {

// The whole file as text; refused when it is larger than `max_size` bytes.
Result<std::string> read_text_file(const std::filesystem::path& path,
                                   std::uint64_t max_size = std::uint64_t{64} << 20);

// A read-only memory map of a whole file. Movable; the bytes live as long as the object.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::filesystem::path& path);
  ByteSpan bytes() const { return bytes_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::shared_ptr<const void> mapping_;
  ByteSpan bytes_;
};

// Lets the kernel take back the memory of mapped bytes that have been read for now; a later read
// brings them back from the file.
void release_mapped(ByteSpan bytes);

// A name beside PATH that nobody had: `create` tries to make it (its errno counts), with the
// permissions that the user's umask leaves. Nothing: errno says why.
std::optional<std::filesystem::path> hidden_sibling(
    const std::filesystem::path& path, const std::function<bool(const char* name)>& create);

// Writes PATH so that after a crash at any instant PATH is either as before or complete: data goes
// to a hidden file beside it, is synced, and renamed over PATH by `commit`. Without `commit` the
// hidden file is removed again by the destructor.
class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::filesystem::path& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  Result<void> write(ByteSpan bytes);
  Result<void> commit();

 private:
  AtomicFile(std::filesystem::path path, std::filesystem::path temporary, int fd)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd) {}
  std::filesystem::path path_, temporary_;
  int fd_ = -1;
};

Result<void> write_file_atomic(const std::filesystem::path& path, ByteSpan bytes);

// Makes what was renamed or created in the directory durable.
Result<void> sync_directory(const std::filesystem::path& directory);

// Fails when PATH exists and is not an empty directory; `key` is what the user named it with.
Result<void> check_output_directory(const std::filesystem::path& path, std::string_view key);
// The same, then creates the directory and its parents.
Result<void> create_output_directory(const std::filesystem::path& path, std::string_view key);

}  // namespace hairpin

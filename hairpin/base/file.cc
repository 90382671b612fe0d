#include "hairpin/base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace hairpin {
namespace {

std::string errno_text() { return std::strerror(errno); }

// Owns a descriptor for the length of a scope.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

Result<std::uint64_t> regular_file_size(int fd, const std::filesystem::path& path) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return bad_input("{}: {}", path.string(), errno_text());
  if (!S_ISREG(info.st_mode))
    return bad_input("{}: not a regular file; give the path of a file", path.string());
  return static_cast<std::uint64_t>(info.st_size);
}

}  // namespace

Result<std::string> read_text_file(const std::filesystem::path& path, std::uint64_t max_size) {
  const Descriptor handle{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (handle.fd < 0) return bad_input("{}: {}; check the path", path.string(), errno_text());
  HAIRPIN_TRY(const auto size, regular_file_size(handle.fd, path));
  if (size > max_size)
    return bad_input("{}: {} bytes, more than the {} allowed for this kind of file", path.string(),
                     size, max_size);
  std::string text(size, '\0');
  for (std::size_t done = 0; done < text.size();) {
    const auto got = ::read(handle.fd, text.data() + done, text.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return bad_input("{}: {}", path.string(), errno_text());
    if (got == 0) return bad_input("{}: shrank while it was read; try again", path.string());
    done += static_cast<std::size_t>(got);
  }
  return text;
}

Result<MappedFile> MappedFile::open(const std::filesystem::path& path) {
  const Descriptor handle{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (handle.fd < 0) return bad_input("{}: {}; check the path", path.string(), errno_text());
  HAIRPIN_TRY(const auto size, regular_file_size(handle.fd, path));
  MappedFile file;
  file.path_ = path;
  if (size == 0) return file;
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, handle.fd, 0);
  if (address == MAP_FAILED) return bad_input("{}: cannot map: {}", path.string(), errno_text());
  file.mapping_ = std::shared_ptr<const void>(
      address, [size](const void* p) { ::munmap(const_cast<void*>(p), size); });
  file.bytes_ = {static_cast<const std::byte*>(address), size};
  return file;
}

void release_mapped(ByteSpan bytes) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  const auto begin = (address + page - 1) / page * page;  // whole pages only
  const auto end = (address + bytes.size()) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

std::optional<std::filesystem::path> hidden_sibling(
    const std::filesystem::path& path, const std::function<bool(const char* name)>& create) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    auto name = path;
    name.replace_filename(fmt::format(".{}.{}-{}", path.filename().string(), ::getpid(), attempt));
    if (create(name.c_str())) return name;
    if (errno != EEXIST) break;
  }
  return std::nullopt;
}

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& path) {
  int fd = -1;
  const auto temporary = hidden_sibling(path, [&](const char* name) {
    fd = ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return fd >= 0;
  });
  if (!temporary) return bad_input("{}: cannot be created: {}", path.string(), errno_text());
  return AtomicFile(path, *temporary, fd);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      fd_(std::exchange(other.fd_, -1)) {}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(temporary_.c_str());
}

Result<void> AtomicFile::write(ByteSpan bytes) {
  while (!bytes.empty()) {
    const auto put = ::write(fd_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0)
      return fail(ErrorKind::internal, "{}: cannot be written: {}", path_.string(), errno_text());
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
  return {};
}

Result<void> AtomicFile::commit() {
  if (::fsync(fd_) != 0 || ::rename(temporary_.c_str(), path_.c_str()) != 0)
    return fail(ErrorKind::internal, "{}: cannot be committed: {}", path_.string(), errno_text());
  ::close(std::exchange(fd_, -1));
  const auto parent = path_.parent_path();
  return sync_directory(parent.empty() ? "." : parent);
}

Result<void> sync_directory(const std::filesystem::path& directory) {
  const Descriptor handle{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (handle.fd < 0 || ::fsync(handle.fd) != 0)
    return fail(ErrorKind::internal, "{}: cannot sync the directory: {}", directory.string(),
                errno_text());
  return {};
}

Result<void> write_file_atomic(const std::filesystem::path& path, ByteSpan bytes) {
  HAIRPIN_TRY(auto file, AtomicFile::create(path));
  HAIRPIN_CHECK_OK(file.write(bytes));
  return file.commit();
}

Result<void> check_output_directory(const std::filesystem::path& path, std::string_view key) {
  std::error_code code;
  if (std::filesystem::exists(path, code)) {
    if (!std::filesystem::is_directory(path, code))
      return bad_input("{} = \"{}\": exists and is not a directory; choose another", key,
                       path.string());
    if (!std::filesystem::is_empty(path, code))
      return bad_input("{} = \"{}\": already in use; choose another or remove it", key,
                       path.string());
  }
  return {};
}

Result<void> create_output_directory(const std::filesystem::path& path, std::string_view key) {
  HAIRPIN_CHECK_OK(check_output_directory(path, key));
  std::error_code code;
  std::filesystem::create_directories(path, code);
  if (code)
    return bad_input("{} = \"{}\": cannot be created: {}", key, path.string(), code.message());
  return {};
}

}  // namespace hairpin

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "hairpin/egress/line.h"
#include "hairpin/egress/log.h"

namespace hairpin::egress {
namespace {

std::string now_utc() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto micros = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  const std::time_t seconds = micros / 1000000;
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", utc.tm_year + 1900,
                     utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                     micros % 1000000);
}

}  // namespace

struct LogWriter::Impl {
  explicit Impl(std::filesystem::path where) : path(std::move(where)) {}
  Impl(const Impl&) = delete;
  ~Impl() {
    if (fd >= 0) ::close(fd);
  }

  Result<void> append(const wire::Message& message, std::uint64_t frame_bytes) {
    const std::lock_guard lock(mutex);
    HAIRPIN_CHECK_OK(add(frame_fields(message, frame_bytes, now_utc())));
    ++totals.frames;
    totals.bytes += frame_bytes;
    return {};
  }

  // Under the mutex.
  Result<void> add(std::string_view fields) {
    if (failed) return tl::unexpected(*failed);
    const auto line = chain_line(sequence++, fields, hash) + "\n";
    for (std::size_t done = 0; done < line.size();) {
      const auto size = ::write(fd, line.data() + done, line.size() - done);
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) {
        failed = Error{ErrorKind::internal,
                       fmt::format("{}: the egress log cannot be written ({}), so nothing more may "
                                   "leave this site; look at the disk's free space",
                                   path.string(), std::strerror(errno))};
        return tl::unexpected(*failed);
      }
      done += static_cast<std::size_t>(size);
    }
    return {};
  }

  const std::filesystem::path path;
  int fd = -1;
  std::mutex mutex;
  std::uint64_t sequence = 0;
  std::string hash = first_previous();
  Totals totals;
  std::optional<Error> failed;
};

LogWriter::LogWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LogWriter::LogWriter(LogWriter&&) noexcept = default;
LogWriter::~LogWriter() = default;

Result<LogWriter> LogWriter::create(const std::filesystem::path& path) {
  auto impl = std::make_unique<Impl>(path);
  impl->fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
  if (impl->fd < 0)
    return bad_input("{}: the egress log cannot be created ({}); choose another output.directory",
                     path.string(), std::strerror(errno));
  HAIRPIN_CHECK_OK(
      impl->add(fmt::format(R"("type":"open","time":"{}","format":{})", now_utc(), kFormat)));
  return LogWriter(std::move(impl));
}

Result<void> LogWriter::append(const wire::Message& message, std::uint64_t frame_bytes) {
  return impl_->append(message, frame_bytes);
}

Result<void> LogWriter::close() {
  const std::lock_guard lock(impl_->mutex);
  HAIRPIN_CHECK_OK(
      impl_->add(fmt::format(R"("type":"close","time":"{}","frames":{},"frame_bytes":{})",
                             now_utc(), impl_->totals.frames, impl_->totals.bytes)));
  impl_->failed = Error{ErrorKind::internal,
                        fmt::format("{}: the egress log is closed, so nothing more may leave this "
                                    "site; this is a defect in Hairpin",
                                    impl_->path.string())};
  return {};
}

}  // namespace hairpin::egress

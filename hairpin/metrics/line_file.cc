#include "hairpin/metrics/line_file.h"

#include <cerrno>
#include <cstring>
#include <string>

#include "hairpin/base/check.h"

namespace hairpin::metrics {
namespace {

tl::unexpected<Error> write_failed(const std::filesystem::path& path) {
  return fail(ErrorKind::internal, "{}: cannot write: {}; free some space and start again",
              path.string(), std::strerror(errno));
}

}  // namespace

Result<LineFile> LineFile::create(const std::filesystem::path& path) {
  auto* file = std::fopen(path.c_str(), "wxe");
  if (file == nullptr)
    return bad_input("{}: cannot create: {}; give another output directory", path.string(),
                     std::strerror(errno));
  return LineFile(path, file);
}

Result<void> LineFile::write(std::string_view line) {
  HAIRPIN_CHECK(file_ != nullptr, "{}: written to after finish", path_.string());
  const auto ended = std::string(line) + "\n";
  if (std::fwrite(ended.data(), 1, ended.size(), file_.get()) != ended.size() ||
      std::fflush(file_.get()) != 0)
    return write_failed(path_);
  return {};
}

Result<void> LineFile::finish() {
  if (auto* file = file_.release(); file != nullptr && std::fclose(file) != 0)
    return write_failed(path_);
  return {};
}

}  // namespace hairpin::metrics

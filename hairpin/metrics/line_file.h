// A text file that a run adds lines to. One thread at a time.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>

#include "hairpin/base/result.h"

namespace hairpin::metrics {

class LineFile {
 public:
  // Creates the file; one that exists is an error, never appended to or overwritten.
  static Result<LineFile> create(const std::filesystem::path& path);

  // Adds the line and its end, and hands both to the system before this returns: a killed run loses
  // none.
  Result<void> write(std::string_view line);
  // No line follows. Later calls do nothing.
  Result<void> finish();

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  LineFile(std::filesystem::path path, std::FILE* file) : path_(std::move(path)), file_(file) {}

  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace hairpin::metrics

// The edge's record of everything that left it: one JSON line a frame, in a SHA-256 hash chain.
// docs/egress-log.md has the format. The chain shows damage and careless edits; against somebody
// who writes the whole log anew, keep the last hash (`Summary::last_hash`) elsewhere.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "hairpin/base/result.h"
#include "hairpin/wire/message.h"

namespace hairpin::egress {

// Writes a log. Each line is in the kernel's hands before `append` returns, so a killed process
// loses none. All members but the destructor may be called from any thread.
class LogWriter {
 public:
  // Creates the file and its opening record; an existing file is refused (bad_input).
  static Result<LogWriter> create(const std::filesystem::path& path);
  LogWriter(LogWriter&&) noexcept;
  ~LogWriter();  // without `close`: the log stays "not closed"

  // One frame of `frame_bytes` bytes. After a failed write every later call fails too. After
  // `close`: an error, for a frame the log cannot hold must not leave.
  Result<void> append(const wire::Message& message, std::uint64_t frame_bytes);

  // Writes the closing record, which proves that no line is missing at the end.
  Result<void> close();

 private:
  struct Impl;
  explicit LogWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

struct Totals {
  std::uint64_t frames = 0;
  std::uint64_t bytes = 0;
  bool operator==(const Totals&) const = default;
};

struct Summary {
  Totals all;
  std::map<std::string, Totals> by_type;  // "tensor/activation", "manifest", ...
  std::uint64_t lines = 0;                // with the opening and closing record
  bool closed = false;                    // false: the run was killed, or still runs
  std::string first_time, last_time;      // UTC
  std::string last_hash;                  // hex
};

// Checks every line and sums the frames up. The first broken line is the error (bad_input),
// "FILE:LINE: ...", which tells edited, removed, reordered, replaced and cut-short lines apart.
// A log that ends without its closing record is no error; Summary::closed says so.
Result<Summary> verify(const std::filesystem::path& path);

// For people, several lines; and as one JSON object.
std::string summary_text(const Summary& summary);
std::string summary_json(const Summary& summary);

}  // namespace hairpin::egress

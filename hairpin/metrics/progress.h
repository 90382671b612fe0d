// A run's progress for people, on standard error. On a terminal one line is redrawn at every step;
// elsewhere a plain line appears for the first and last step and otherwise at most every few
// seconds. The line of a skipped step always appears, and stays.
//
//   step 12/100  loss 2.3145  114 tokens/s  link 3.2 MB/s  ETA 14:05
//   step 13/100  skipped: no trained tokens  114 tokens/s  link 3.2 MB/s  ETA 14:01
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>

#include "hairpin/metrics/sink.h"

namespace hairpin::metrics {

struct ProgressOptions {
  std::int64_t steps = 0;      // of the whole run
  bool terminal = false;       // redraw
  int columns = 80;            // of the terminal; a longer line is cut
  double every_seconds = 5.0;  // between plain lines
};

// Of a stream on a terminal or not: `terminal` and `columns` are what the stream says.
ProgressOptions progress_options(std::FILE* stream, std::int64_t steps);

class Progress : public Sink {
 public:
  using Write = std::function<void(const std::string&)>;

  // `write` shows a text at once.
  Progress(ProgressOptions options, Write write);

  // Time is taken from the records: the sum of their step_seconds.
  Result<void> write(const StepRecord& record) override;

  // Ends a redrawn line, so that a log line that follows starts on its own.
  void interrupt();

  Result<void> finish() override;

 private:
  std::string line(const StepRecord& record) const;
  void redraw(const std::string& line);
  void plain(const StepRecord& record, const std::string& line);

  ProgressOptions options_;
  Write write_;
  std::int64_t records_ = 0;
  double seconds_ = 0.0;        // since the first record began
  double shown_seconds_ = 0.0;  // at the last plain line
  std::string pending_;         // the newest plain line, if not shown yet
  bool drawn_ = false;          // a redrawn line stands unfinished
};

// "0:07", "14:05", "3:02:10"
std::string clock_text(double seconds);

}  // namespace hairpin::metrics

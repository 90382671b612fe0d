// metrics.jsonl: one JSON object a step, on a line of its own, in the order of StepRecord's fields.
//
// Numbers have the shortest text that reads back as the same double, so that two runs' losses can
// be compared bit for bit. What is not known (an unset field, `tensor_memory` of no rank) is left
// out; NaN and infinities, which JSON does not have, are null.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "hairpin/metrics/sink.h"

namespace hairpin::metrics {

std::string to_json(const StepRecord& record);  // without the line end

class JsonLinesSink : public Sink {
 public:
  // Creates the file; one that exists is an error, never appended to or overwritten.
  static Result<std::unique_ptr<JsonLinesSink>> create(const std::filesystem::path& path);

  // A line is handed to the system before this returns: a killed run loses none.
  Result<void> write(const StepRecord& record) override;
  Result<void> finish() override;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  JsonLinesSink(std::filesystem::path path, std::FILE* file)
      : path_(std::move(path)), file_(file) {}

  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace hairpin::metrics

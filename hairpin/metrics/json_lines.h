// metrics.jsonl: one JSON object a step, on a line of its own, in the order of StepRecord's fields.
//
// Numbers have the shortest text that reads back as the same double, so that two runs' losses can
// be compared bit for bit. What is not known (an unset field, `tensor_memory` of no rank) is left
// out; NaN and infinities, which JSON does not have, are null.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "hairpin/metrics/line_file.h"
#include "hairpin/metrics/sink.h"

namespace hairpin::metrics {

std::string to_json(const StepRecord& record);  // without the line end

class JsonLinesSink : public Sink {
 public:
  // As LineFile creates it.
  static Result<std::unique_ptr<JsonLinesSink>> create(const std::filesystem::path& path);

  Result<void> write(const StepRecord& record) override { return file_.write(to_json(record)); }
  Result<void> finish() override { return file_.finish(); }

 private:
  explicit JsonLinesSink(LineFile file) : file_(std::move(file)) {}

  LineFile file_;
};

}  // namespace hairpin::metrics

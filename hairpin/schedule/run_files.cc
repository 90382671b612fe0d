#include "hairpin/schedule/run_files.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "hairpin/base/file.h"
#include "hairpin/json/parse.h"
#include "hairpin/schedule/json_object.h"

namespace hairpin::schedule {
namespace {

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{256} << 20;

// The whole lines; a killed run may have left a last one without its end.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

Result<std::vector<Record>> read_records(const std::filesystem::path& file) {
  HAIRPIN_TRY(const auto text, read_text_file(file, kMaxFileBytes));
  std::vector<Record> records;
  for (const auto line : lines_of(text)) {
    auto record = parse_record(line);
    if (!record)
      return bad_input("{}: line {}: {}", file.string(), records.size() + 1,
                       record.error().message);
    records.push_back(std::move(*record));
  }
  if (records.empty() || records.front().from_step != 1)
    return bad_input("{}: says nothing about step 1; the run has not begun, or the file is damaged",
                     file.string());
  return records;
}

Result<TraceFile> read_trace(const std::filesystem::path& file) {
  HAIRPIN_TRY(const auto mapped, MappedFile::open(file));
  const auto bytes = mapped.bytes();
  return parse_trace({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file.string());
}

}  // namespace

const Record& RunFiles::record_of(std::int64_t step) const {
  const Record* found = &records.front();
  for (const Record& record : records)
    if (record.from_step <= step) found = &record;
  return *found;
}

Result<RunFiles> read_run(const std::filesystem::path& run) {
  RunFiles files;
  for (const auto& site : {run / "edge", run / "cloud", run})
    if (std::filesystem::exists(site / "schedule.jsonl")) files.sites.push_back(site);
  if (files.sites.empty())
    return bad_input(
        "{}: no schedule.jsonl in it nor in its folders edge and cloud; give the output.directory "
        "of a run",
        run.string());
  HAIRPIN_TRY(files.records, read_records(files.sites.front() / "schedule.jsonl"));
  for (const auto& site : files.sites) {
    const auto file = site / "trace.json";
    if (!std::filesystem::exists(file)) {
      files.missing.push_back(file.string());
      continue;
    }
    HAIRPIN_TRY(auto trace, read_trace(file));
    files.traces.push_back(std::move(trace));
  }
  if (files.traces.empty())
    return bad_input("{}: no such file; a run writes it at its end with output.trace = true",
                     fmt::join(files.missing, ", "));
  return files;
}

Result<StepLine> read_step_line(const std::filesystem::path& site, std::int64_t step) {
  const auto file = site / "metrics.jsonl";
  StepLine found;
  if (!std::filesystem::exists(file)) return found;
  HAIRPIN_TRY(const auto text, read_text_file(file, kMaxFileBytes));
  for (const auto line : lines_of(text)) {
    HAIRPIN_TRY(const auto document, hairpin::json::parse(line, file.string()));
    HAIRPIN_TRY(JsonObject object, JsonObject::of(document, file.string()));
    HAIRPIN_TRY(const auto number, object.whole("step", 1, std::int64_t{1} << 53));
    if (number != step) continue;
    HAIRPIN_TRY(found.step_seconds, object.number("step_seconds"));
    if (object.has("rtt_seconds")) {
      HAIRPIN_TRY(found.rtt_seconds, object.number("rtt_seconds"));
    }
  }
  return found;
}

}  // namespace hairpin::schedule

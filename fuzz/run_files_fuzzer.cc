// A line of schedule.jsonl, or behind a first byte of 't' a trace.json: refused in one sentence, or
// a record that comes back from its own line, or a trace.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "hairpin/schedule/record.h"
#include "hairpin/schedule/trace_file.h"

namespace {

using namespace hairpin;

void require(bool condition) {
  if (!condition) std::abort();
}

template <class T>
void require_sentence(const Result<T>& refused) {
  require(refused.error().kind == ErrorKind::bad_input);
  require(!refused.error().message.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  if (input.starts_with('t')) {
    const auto trace = schedule::parse_trace(input.substr(1), "trace.json");
    if (!trace) require_sentence(trace);
    return 0;
  }
  const auto record = schedule::parse_record(input);
  if (!record) {
    require_sentence(record);
    return 0;
  }
  const auto again = schedule::parse_record(schedule::to_line(*record));
  require(again && *again == *record);
  return 0;
}

#include "hairpin/schedule/trace_file.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "hairpin/schedule/json_object.h"

namespace hairpin::schedule {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 8;
constexpr std::int64_t kMaxWhole = std::int64_t{1} << 53;

Result<int> thread_of(JsonObject& event) {
  HAIRPIN_TRY(const auto thread, event.whole("tid", 0, std::numeric_limits<int>::max()));
  return static_cast<int>(thread);
}

Result<void> take_name(JsonObject& event, TraceFile& file) {
  HAIRPIN_TRY(const int thread, thread_of(event));
  HAIRPIN_TRY(JsonObject arguments, event.object("args"));
  HAIRPIN_TRY(file.threads[thread], arguments.text("name"));
  return {};
}

Result<TracedSpan> span_of(JsonObject& event) {
  TracedSpan span;
  HAIRPIN_TRY(span.name, event.text("name"));
  HAIRPIN_TRY(span.thread, thread_of(event));
  HAIRPIN_TRY(span.start, event.number("ts"));
  HAIRPIN_TRY(const double duration, event.number("dur"));
  span.end = span.start + duration;
  HAIRPIN_TRY(JsonObject arguments, event.object("args"));
  if (arguments.has("step")) {
    HAIRPIN_TRY(span.step, arguments.whole("step", 1, kMaxWhole));
  }
  return span;
}

Result<void> take(const json& value, std::string_view where, TraceFile& file) {
  HAIRPIN_TRY(JsonObject event, JsonObject::of(value, fmt::format("{}: an event", where)));
  HAIRPIN_TRY(const auto phase, event.text("ph"));
  HAIRPIN_TRY(const auto name, event.text("name"));
  if (phase == "M" && name == "thread_name") return take_name(event, file);
  if (phase != "X") return {};
  HAIRPIN_TRY(const auto category, event.text("cat"));
  if (category != "op" && category != "link") return {};
  HAIRPIN_TRY(auto span, span_of(event));
  (category == "op" ? file.ops : file.link).push_back(std::move(span));
  return {};
}

// What ends the parser early.
struct Refused {
  Error error;
};

}  // namespace

// Each event is taken and thrown away as soon as it is read: a trace may be large.
Result<TraceFile> parse_trace(std::string_view text, std::string_view where) {
  TraceFile file;
  const auto see = [&](int depth, json::parse_event_t what, json& value) {
    if (depth > kMaxDepth)
      throw Refused{{ErrorKind::bad_input, fmt::format("{}: nested too deep", where)}};
    if (depth != 2 || what != json::parse_event_t::object_end) return true;
    if (auto taken = take(value, where, file); !taken) throw Refused{std::move(taken).error()};
    return false;
  };
  try {
    const json document = json::parse(text, see);
    HAIRPIN_TRY(JsonObject root, JsonObject::of(document, std::string(where)));
    HAIRPIN_TRY(const auto* events, root.at("traceEvents"));
    if (!events->is_array()) return bad_input("{}: traceEvents is not a list", where);
    if (root.has("dropped")) {
      HAIRPIN_TRY(file.dropped, root.whole("dropped", 0, kMaxWhole));
    }
    return file;
  } catch (const Refused& refused) {
    return tl::unexpected<Error>(refused.error);
  } catch (const json::exception&) {
    return bad_input("{}: not valid JSON; the file is damaged or of another kind", where);
  }
}

}  // namespace hairpin::schedule

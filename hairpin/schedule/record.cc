#include "hairpin/schedule/record.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "hairpin/json/parse.h"
#include "hairpin/schedule/checker.h"
#include "hairpin/schedule/json_object.h"
#include "hairpin/schedule/notation.h"

namespace hairpin::schedule {
namespace {

using nlohmann::ordered_json;

constexpr const char* kWhere = "schedule.jsonl";
constexpr int kMaxCount = std::numeric_limits<int>::max();

ordered_json json_of(const TransferTimes& times) {
  return {{"activation", times.activation}, {"gradient", times.gradient}};
}

ordered_json json_of(const Times& times) {
  return {{"forward", times.forward},
          {"backward", times.backward},
          {"backward_weight", times.backward_weight},
          {"latency", times.latency},
          {"up", json_of(times.up)},
          {"down", json_of(times.down)}};
}

ordered_json lists_of(const Schedule& schedule) {
  const Notation notation(schedule);
  auto ranks = ordered_json::array();
  for (const auto& list : schedule.ranks) {
    auto texts = ordered_json::array();
    for (const Op& op : list) texts.push_back(notation.text(op));
    ranks.push_back(std::move(texts));
  }
  return ranks;
}

Result<TransferTimes> transfer_times(JsonObject from) {
  TransferTimes times;
  HAIRPIN_TRY(times.activation, from.whole("activation", 0, kMaxMicroseconds));
  HAIRPIN_TRY(times.gradient, from.whole("gradient", 0, kMaxMicroseconds));
  HAIRPIN_CHECK_OK(from.nothing_else());
  return times;
}

Result<Times> times_of(JsonObject from) {
  Times times;
  HAIRPIN_TRY(times.forward, from.wholes("forward", 0, kMaxMicroseconds));
  HAIRPIN_TRY(times.backward, from.wholes("backward", 0, kMaxMicroseconds));
  HAIRPIN_TRY(times.backward_weight, from.wholes("backward_weight", 0, kMaxMicroseconds));
  HAIRPIN_TRY(times.latency, from.whole("latency", 0, kMaxMicroseconds));
  HAIRPIN_TRY(JsonObject up, from.object("up"));
  HAIRPIN_TRY(times.up, transfer_times(std::move(up)));
  HAIRPIN_TRY(JsonObject down, from.object("down"));
  HAIRPIN_TRY(times.down, transfer_times(std::move(down)));
  HAIRPIN_CHECK_OK(from.nothing_else());
  return times;
}

Result<std::vector<int>> counts(JsonObject& from, const char* key, int least) {
  HAIRPIN_TRY(const auto values, from.wholes(key, least, kMaxCount));
  return std::vector<int>(values.begin(), values.end());
}

Result<std::vector<Op>> list_of(const Schedule& layout, std::size_t rank,
                                const nlohmann::json& texts) {
  if (!texts.is_array())
    return bad_input("{}: the list of rank {} is {}; it must be a list of ops", kWhere, rank,
                     hairpin::json::brief(texts));
  std::vector<Op> list;
  list.reserve(texts.size());
  for (const auto& text : texts) {
    if (!text.is_string())
      return bad_input("{}: the list of rank {} has {} for an op", kWhere, rank,
                       hairpin::json::brief(text));
    HAIRPIN_TRY(const Op op,
                parse_op(layout, static_cast<int>(rank), text.get_ref<const std::string&>()));
    list.push_back(op);
  }
  return list;
}

Result<Schedule> schedule_of(JsonObject& from) {
  Schedule made;
  HAIRPIN_TRY(made.kind, from.text("kind"));
  HAIRPIN_TRY(made.microbatches, from.count("microbatches", 1));
  HAIRPIN_TRY(made.domains, from.count("domains", 1));
  HAIRPIN_TRY(made.edge_ranks, from.count("edge_ranks", 0));
  HAIRPIN_TRY(made.position_of_stage, counts(from, "position_of_stage", 0));
  HAIRPIN_TRY(made.split_backward, from.flags("split_backward"));
  HAIRPIN_TRY(const auto* ranks, from.at("ranks"));
  if (!ranks->is_array())
    return bad_input("{}: ranks is {}; it must be a list of lists of ops", kWhere,
                     hairpin::json::brief(*ranks));
  made.ranks.resize(ranks->size());
  HAIRPIN_CHECK_OK(check_layout(made));  // before a list is read by it
  for (std::size_t rank = 0; rank < ranks->size(); ++rank) {
    HAIRPIN_TRY(made.ranks[rank], list_of(made, rank, (*ranks)[rank]));
  }
  HAIRPIN_CHECK_OK(check(made));
  return made;
}

}  // namespace

std::string to_line(const Record& record) {
  ordered_json line = {{"from_step", record.from_step},
                       {"reason", record.reason},
                       {"step_before", record.step_before},
                       {"step_predicted", record.step_predicted}};
  if (record.times) line["times"] = json_of(*record.times);
  const Schedule& schedule = record.schedule;
  line["kind"] = schedule.kind;
  line["microbatches"] = schedule.microbatches;
  line["domains"] = schedule.domains;
  line["edge_ranks"] = schedule.edge_ranks;
  line["position_of_stage"] = schedule.position_of_stage;
  line["split_backward"] = schedule.split_backward;
  line["in_flight_cap"] = record.in_flight_cap;
  line["ranks"] = lists_of(schedule);
  return line.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

Result<Record> parse_record(std::string_view line) {
  if (line.size() > kMaxRecordBytes)
    return bad_input("{}: a line of {} bytes; the most is {}", kWhere, line.size(),
                     kMaxRecordBytes);
  HAIRPIN_TRY(const auto document, hairpin::json::parse(line, kWhere, 4));
  HAIRPIN_TRY(JsonObject from, JsonObject::of(document, kWhere));
  Record record;
  HAIRPIN_TRY(record.from_step, from.whole("from_step", 1, std::int64_t{1} << 53));
  HAIRPIN_TRY(record.reason, from.text("reason"));
  HAIRPIN_TRY(record.step_before, from.number("step_before"));
  HAIRPIN_TRY(record.step_predicted, from.number("step_predicted"));
  HAIRPIN_TRY(record.in_flight_cap, counts(from, "in_flight_cap", 1));
  HAIRPIN_TRY(record.schedule, schedule_of(from));
  if (from.has("times")) {
    HAIRPIN_TRY(JsonObject times, from.object("times"));
    HAIRPIN_TRY(record.times, times_of(std::move(times)));
    HAIRPIN_CHECK_OK(to_costs(record.schedule, *record.times));
  }
  HAIRPIN_CHECK_OK(from.nothing_else());
  return record;
}

}  // namespace hairpin::schedule

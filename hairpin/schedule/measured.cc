#include "hairpin/schedule/measured.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <regex>
#include <unordered_map>
#include <utility>

#include "hairpin/schedule/notation.h"
#include "hairpin/schedule/op_index.h"
#include "hairpin/schedule/op_places.h"

namespace hairpin::schedule {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Whose list a thread of a trace ran; nothing: it is no rank, or not the first of its
// tensor-parallel group.
Result<std::optional<std::size_t>> rank_of_thread(const Schedule& schedule,
                                                  const std::string& name) {
  static const std::regex form(
      "(edge|cloud|site) rank pp (\\d{1,6}), dp (\\d{1,6}), tp (\\d{1,6})");
  std::smatch parts;
  if (!std::regex_match(name, parts, form)) return std::nullopt;
  const bool at_edge = parts[1] == "edge";
  const int pp = std::stoi(parts[2]), dp = std::stoi(parts[3]), tp = std::stoi(parts[4]);
  const int own = schedule.pp() - (schedule.edge_ranks > 0 ? 1 : 0);  // a domain's
  const bool sound = at_edge ? pp == 0 && dp < schedule.edge_ranks
                             : pp < own && dp < schedule.domains &&
                                   (parts[1] == "cloud") == (schedule.edge_ranks > 0);
  if (!sound)
    return bad_input(
        "a trace has a thread \"{}\", which the schedule has no list for; give traces and "
        "schedule.jsonl of one run",
        name);
  if (tp != 0) return std::nullopt;
  return static_cast<std::size_t>(at_edge ? dp : schedule.edge_ranks + dp * own + pp);
}

// All that the traces know of the schedule's ops: by rank and position, step after step.
class Occurrences {
 public:
  static Result<Occurrences> of(const Schedule& schedule, const std::vector<TraceFile>& traces) {
    Occurrences made(schedule);
    for (const TraceFile& trace : traces) HAIRPIN_CHECK_OK(made.take(trace));
    if (made.traced_.empty())
      return bad_input("the traces have no ops of any rank; give traces of a run that made steps");
    return made;
  }

  bool has(std::size_t rank) const { return traced_.contains(rank); }
  const std::vector<Span>& at(std::size_t rank, std::size_t i) const { return times_[rank][i]; }

  std::int64_t steps() const {
    auto least = std::numeric_limits<std::int64_t>::max();
    for (const auto& [rank, name] : traced_)
      for (const auto& times : times_[rank]) least = std::min(least, std::ssize(times));
    return least;
  }

 private:
  explicit Occurrences(const Schedule& schedule) : schedule_(schedule) {
    const Notation notation(schedule);
    for (const auto& list : schedule.ranks) {
      times_.emplace_back(list.size());
      auto& places = places_.emplace_back();
      for (std::size_t i = 0; i < list.size(); ++i) places[notation.text(list[i])] = i;
    }
  }

  Result<void> take(const TraceFile& trace) {
    std::map<int, std::size_t> rank_of;
    for (const auto& [thread, name] : trace.threads) {
      HAIRPIN_TRY(const auto rank, rank_of_thread(schedule_, name));
      if (!rank) continue;
      if (const auto [at, is_new] = traced_.try_emplace(*rank, name); !is_new)
        return bad_input("the traces have \"{}\" twice; give each site's trace once", name);
      rank_of[thread] = *rank;
    }
    for (const TracedSpan& span : trace.ops) {
      const auto rank = rank_of.find(span.thread);
      if (rank == rank_of.end()) continue;
      const auto place = places_[rank->second].find(span.name);
      if (place == places_[rank->second].end())
        return bad_input(
            "the trace has an op \"{}\" of \"{}\", which its list has not; give traces and "
            "schedule.jsonl of one run",
            span.name, trace.threads.at(span.thread));
      times_[rank->second][place->second].push_back({span.start, span.end});
    }
    return {};
  }

  const Schedule& schedule_;
  std::vector<std::unordered_map<std::string, std::size_t>> places_;  // by rank
  std::vector<std::vector<std::vector<Span>>> times_;                 // by rank, position, step
  std::map<std::size_t, std::string> traced_;                         // ranks, their threads' names
};

// A frame at its two ends, each by its own clock.
struct Frame {
  std::optional<Span> sent, received;
};
using Frames = std::map<std::string, Frame>;  // of one direction, by name

// Of STEP; [1] is up.
std::array<Frames, 2> frames_of(const std::vector<TraceFile>& traces, std::int64_t step) {
  std::array<Frames, 2> frames;
  for (const TraceFile& trace : traces) {
    const bool edge = std::ranges::any_of(
        trace.threads, [](const auto& thread) { return thread.second.starts_with("edge rank"); });
    for (const TracedSpan& span : trace.link) {
      const auto thread = trace.threads.find(span.thread);
      if (span.step != step || thread == trace.threads.end()) continue;
      const bool received = thread->second.starts_with("link received");
      Frame& frame = frames[edge != received ? 1 : 0][span.name];
      (received ? frame.received : frame.sent) = Span{span.start, span.end};
    }
  }
  return frames;
}

// The least time from a frame's first byte's sending to its coming, by clocks that may differ.
double least_delay(const Frames& frames) {
  double least = kInfinity;
  for (const auto& [name, frame] : frames)
    if (frame.sent && frame.received)
      least = std::min(least, frame.received->start - frame.sent->start);
  return least;
}

// In the order of their coming, by the receiver's clock, or all by the sender's; see measured.h.
std::vector<MeasuredFrame> as_they_came(const Frames& frames, bool up, bool received) {
  const double delay = least_delay(frames);
  std::vector<MeasuredFrame> made;
  std::map<std::string, double> sent;  // when it can have come
  for (const auto& [name, frame] : frames) {
    const auto& span = received ? frame.received : frame.sent;
    if (!span) continue;
    made.push_back({name, up, span->start, span->end});
    if (received && frame.sent) sent[name] = frame.sent->start + delay;
  }
  std::ranges::sort(made, {}, &MeasuredFrame::end);
  double free = -kInfinity;
  for (MeasuredFrame& frame : made) {
    if (const auto at = sent.find(frame.name); at != sent.end())
      frame.start = std::min(frame.start, std::max(free, at->second));
    free = frame.end;
  }
  return made;
}

// How far a site's clock may seem to be off before it counts: the end of an op's span is noted
// after its result has gone.
constexpr double kVisible = 1000;

// What to add to the cloud's times: measured.h has the rule.
double shift_for(const Schedule& schedule, const std::vector<std::vector<Span>>& spans) {
  const OpPlaces places(schedule, {});
  double least = -kInfinity, most = kInfinity;
  for (std::size_t rank = 0; rank < spans.size(); ++rank)
    for (std::size_t i = 0; i < spans[rank].size(); ++i) {
      const Op& op = schedule.ranks[rank][i];
      const auto source = data_dependency(op, schedule);
      if (!source || !is_cut(schedule, source->stage, op.stage)) continue;
      const Place from = places.of(*source);
      if (spans[from.rank].empty()) continue;
      const double gap = spans[rank][i].start - spans[from.rank][from.position].end;
      if (is_on_edge(schedule, op.stage)) {
        most = std::min(most, gap);
      } else {
        least = std::max(least, -gap);
      }
    }
  if (least <= kVisible && most >= -kVisible) return 0;  // also where nothing says anything
  return (least + most) / 2;
}

void move(Span& span, double by) {
  span.start += by;
  span.end += by;
}

// Puts the cloud on the edge's clock, and the step's first op to 0.
void settle(const Schedule& schedule, MeasuredStep& step, const std::array<Frames, 2>& frames) {
  step.cloud_shift = shift_for(schedule, step.spans);
  double begin = kInfinity, end = -kInfinity;
  for (std::size_t rank = 0; rank < step.spans.size(); ++rank)
    for (Span& span : step.spans[rank]) {
      if (!schedule.is_edge(static_cast<int>(rank))) move(span, step.cloud_shift);
      begin = std::min(begin, span.start);
      end = std::max(end, span.end);
    }
  step.makespan = end - begin;
  for (auto& spans : step.spans)
    for (Span& span : spans) move(span, -begin);
  for (const bool up : {false, true}) {
    const Frames& of = frames[up ? 1 : 0];
    const bool received =
        std::ranges::any_of(of, [](const auto& one) { return one.second.received.has_value(); });
    const double by = (up == received ? step.cloud_shift : 0) - begin;  // by whose clock
    for (MeasuredFrame& frame : as_they_came(of, up, received)) {
      frame.start += by;
      frame.end += by;
      step.frames.push_back(std::move(frame));
    }
  }
  std::ranges::sort(step.frames, {}, &MeasuredFrame::start);
}

// Times of one kind; the middle one, or the mean of the two in the middle.
class Medians {
 public:
  void add(int key, double time) { times_[key].push_back(time); }
  bool has(int key) const { return times_.contains(key); }
  std::int64_t or_zero(int key) {
    const auto found = times_.find(key);
    if (found == times_.end()) return 0;
    auto& times = found->second;
    std::ranges::sort(times);
    const std::size_t middle = times.size() / 2;
    const double median =
        times.size() % 2 == 1 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
    return std::llround(std::min(median, 2.0 * static_cast<double>(kMaxMicroseconds)));
  }

 private:
  std::map<int, std::vector<double>> times_;
};

// The link's part: a frame of an activation bears the name of a forward.
void add_transfers(const MeasuredStep& step, Times& times) {
  Medians medians;
  const auto key = [](bool up, bool activation) { return (up ? 2 : 0) + (activation ? 1 : 0); };
  for (const auto& frame : step.frames)
    medians.add(key(frame.up, frame.name.starts_with('F')), frame.end - frame.start);
  for (const bool up : {true, false}) {
    TransferTimes& direction = up ? times.up : times.down;
    direction.activation = medians.or_zero(key(up, true));
    direction.gradient = medians.or_zero(key(up, false));
  }
}

}  // namespace

double MeasuredStep::busy(std::size_t rank) const {
  double busy = 0;
  for (const Span& span : spans[rank]) busy += span.end - span.start;
  return busy;
}

double MeasuredStep::link_busy(bool up) const {
  double busy = 0, until = -kInfinity;
  for (const auto& frame : frames) {  // by start
    if (frame.up != up) continue;
    busy += std::max(0.0, frame.end - std::max(frame.start, until));
    until = std::max(until, frame.end);
  }
  return busy;
}

Result<std::int64_t> traced_steps(const Schedule& schedule, const std::vector<TraceFile>& traces) {
  HAIRPIN_TRY(const auto found, Occurrences::of(schedule, traces));
  return found.steps();
}

Result<MeasuredStep> measured_step(const Schedule& schedule, const std::vector<TraceFile>& traces,
                                   std::int64_t step) {
  HAIRPIN_TRY(const auto found, Occurrences::of(schedule, traces));
  if (step < 1 || step > found.steps())
    return bad_input(
        "the traces have steps 1 to {}, and not step {}; a trace keeps the first "
        "million spans",
        found.steps(), step);
  MeasuredStep made;
  made.spans.resize(schedule.ranks.size());
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank)
    for (std::size_t i = 0; found.has(rank) && i < schedule.ranks[rank].size(); ++i)
      made.spans[rank].push_back(found.at(rank, i)[static_cast<std::size_t>(step - 1)]);
  settle(schedule, made, frames_of(traces, step));
  return made;
}

Result<Times> median_times(const Schedule& schedule, const MeasuredStep& step,
                           std::int64_t latency) {
  Medians medians;
  const auto key = [](OpKind kind, int stage) { return stage * 4 + static_cast<int>(kind); };
  for (std::size_t rank = 0; rank < step.spans.size(); ++rank)
    for (std::size_t i = 0; i < step.spans[rank].size(); ++i) {
      const Op& op = schedule.ranks[rank][i];
      medians.add(key(op.kind, op.stage), step.spans[rank][i].end - step.spans[rank][i].start);
    }
  Times times{.latency = latency};
  for (int stage = 0; stage < schedule.num_stages(); ++stage) {
    const int forward = key(OpKind::forward, stage), back = key(schedule.backward_of(stage), stage);
    if (!medians.has(forward) || !medians.has(back))
      return bad_input("no trace tells how long stage {} takes; set output.trace on both sites",
                       stage);
    const auto weights = medians.or_zero(key(OpKind::backward_weight, stage));
    times.forward.push_back(medians.or_zero(forward));
    times.backward.push_back(medians.or_zero(back) + weights);
    if (!schedule.split_backward.empty()) times.backward_weight.push_back(weights);
  }
  add_transfers(step, times);
  return times;
}

}  // namespace hairpin::schedule

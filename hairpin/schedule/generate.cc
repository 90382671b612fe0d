#include "hairpin/schedule/generate.h"

#include <algorithm>
#include <array>

#include <utility>

#include "hairpin/base/nearest.h"
#include "hairpin/schedule/adaptive.h"
#include "hairpin/schedule/checker.h"
#include "hairpin/schedule/hairpin.h"
#include "hairpin/schedule/line.h"
#include "hairpin/schedule/split.h"

namespace hairpin::schedule {
namespace {

const std::array<std::string, 5> kKnown = {"gpipe", "1f1b", "zb-h1", "hairpin-1f1b",
                                           "hairpin-adaptive"};
const std::array<std::string, 1> kPlanned = {"interleaved"};
constexpr const char* kUse = "use gpipe, 1f1b, zb-h1, hairpin-1f1b or hairpin-adaptive";

template <class Names>
bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Result<void> check_kind(std::string_view kind) {
  if (contains(kKnown, kind)) return {};
  if (contains(kPlanned, kind))
    return bad_input("schedule kind \"{}\" is not built yet; {}", kind, kUse);
  if (const auto near = nearest_word(kind, kKnown))
    return bad_input("unknown schedule kind \"{}\"; did you mean \"{}\"?", kind, *near);
  return bad_input("unknown schedule kind \"{}\"; {}", kind, kUse);
}

Result<void> check_shape(std::string_view kind, Shape shape) {
  if ((kind == "1f1b" || kind == "zb-h1") && shape == Shape::hairpin)
    return bad_input(
        "schedule {} has no order for an edge that holds head and tail; use hairpin-adaptive or "
        "hairpin-1f1b",
        kind);
  if (kind.starts_with("hairpin-") && shape == Shape::line)
    return bad_input(
        "schedule {} needs an edge that holds head and tail; use 1f1b or zb-h1 on a line of ranks",
        kind);
  return {};
}

Result<void> check_counts(std::string_view kind, Shape shape, const GenerateOptions& o) {
  if (shape == Shape::hairpin && o.pp < 2)
    return bad_input(
        "schedule {} over edge and cloud needs pp >= 2 (the edge and at least one cloud rank), got "
        "{}",
        kind, o.pp);
  if (o.pp < 1) return bad_input("schedule {} needs pp >= 1, got {}", kind, o.pp);
  if (o.microbatches < 1)
    return bad_input("schedule {} needs microbatches >= 1, got {}", kind, o.microbatches);
  if (o.domains < 1) return bad_input("schedule {} needs domains >= 1, got {}", kind, o.domains);
  // Each factor is below 2^31, so a double holds the product closely enough to compare.
  const double stages = o.pp + (shape == Shape::hairpin ? 1.0 : 0.0);
  const bool split = o.split_backward || kind == "zb-h1";
  if ((split ? 3.0 : 2.0) * stages * o.microbatches * o.domains > static_cast<double>(kMaxOps))
    return bad_input(
        "a schedule of {} ranks, {} microbatches and {} domains has more than {} ops; lower one of "
        "them",
        o.pp, o.microbatches, o.domains, kMaxOps);
  return {};
}

// After check_counts: the microbatches of a step can be counted.
Result<void> check_edges(std::string_view kind, Shape shape, const GenerateOptions& o) {
  if (shape == Shape::line && o.edges != 1)
    return bad_input(
        "schedule {} on a line of ranks has no edge, but {} edge replicas were asked for; leave "
        "them out, and use domains for data parallelism",
        kind, o.edges);
  if (o.edges < 1) return bad_input("schedule {} needs edges >= 1, got {}", kind, o.edges);
  if (const int all = o.microbatches * o.domains; o.edges > all)
    return bad_input(
        "schedule {} has {} microbatches a step ({} in each of {} domains), too few for {} edge "
        "replicas; use at most {} replicas or more microbatches",
        kind, all, o.microbatches, o.domains, o.edges, all);
  return {};
}

Shape shape_of(std::string_view kind, const GenerateOptions& options) {
  return options.shape.value_or(kind.starts_with("hairpin-") ? Shape::hairpin : Shape::line);
}

// CAPS as one number a stage; empty stays empty.
Result<void> spread_caps(std::string_view kind, const Schedule& layout, const char* what,
                         std::vector<int>& caps) {
  const std::size_t stages = layout.position_of_stage.size();
  for (const int cap : caps)
    if (cap < 1)
      return bad_input(
          "schedule {}: a cap on {} is {}, too small for one microbatch; give 1 or more", kind,
          what, cap);
  if (caps.size() == 1) caps.resize(stages, caps[0]);
  if (!caps.empty() && caps.size() != stages)
    return bad_input(
        "schedule {} has {} stages, but {} caps on {} were given; give one for all or "
        "one each",
        kind, stages, caps.size(), what);
  return {};
}

// What a kind whose order doesn't follow the times has, each backward whole.
Schedule fixed_order(std::string_view kind, Shape shape, const GenerateOptions& o) {
  if (kind == "1f1b") return line_1f1b(o.pp, o.microbatches, o.domains);
  if (kind == "zb-h1") {
    Schedule schedule = line_1f1b(o.pp, o.microbatches, o.domains);
    schedule.kind = kind;
    return schedule;
  }
  const Replicas replicas{o.domains, o.edges};
  if (kind == "hairpin-1f1b") return hairpin_1f1b(o.pp, o.microbatches, replicas);
  if (shape == Shape::hairpin) return hairpin_gpipe(o.pp, o.microbatches, replicas);
  return line_gpipe(o.pp, o.microbatches, o.domains);
}

Schedule empty_layout(std::string_view kind, Shape shape, const GenerateOptions& o) {
  const std::string name(kind);
  return shape == Shape::line
             ? empty_line(name.c_str(), o.pp, o.microbatches, o.domains)
             : empty_hairpin(name.c_str(), o.pp, o.microbatches, {o.domains, o.edges});
}

// zb-h1's rank r has r fewer microbatches in flight than rank 0 and may keep as many weights'
// gradients more, one of them being worked on.
std::vector<int> zero_bubble_caps(std::vector<int> caps) {
  for (std::size_t stage = 0; stage < caps.size(); ++stage)
    caps[stage] = std::min(caps[stage], static_cast<int>(stage) + 1);
  return caps;
}

// A schedule of fixed order, split if that is asked for.
Schedule fixed(std::string_view kind, Shape shape, const GenerateOptions& o, const Costs& costs) {
  Schedule schedule = fixed_order(kind, shape, o);
  if (!o.split_backward && kind != "zb-h1") return schedule;
  const std::vector<int>& caps = o.pending_weights_cap;
  return split_weights(schedule, costs, kind == "zb-h1" ? zero_bubble_caps(caps) : caps);
}

Schedule adaptive(const Schedule& layout, const GenerateOptions& o, const Times& times,
                  const Costs& costs) {
  const Caps caps{o.in_flight_cap, o.pending_weights_cap};
  std::vector<Schedule> others;
  for (const char* kind : {"hairpin-1f1b", "gpipe"})
    if (Schedule other = fixed(kind, Shape::hairpin, o, costs);
        check(other, {caps.in_flight, caps.pending_weights}))
      others.push_back(std::move(other));
  return hairpin_adaptive(layout, times, caps, others);
}

// The most domains times edge replicas for which adaptive.h's whole numbers are large enough.
constexpr std::int64_t kMostReplicas = 1 << 20;

Result<void> check_replicas(std::string_view kind, const GenerateOptions& o) {
  if (std::int64_t{o.domains} * o.edges <= kMostReplicas) return {};
  return bad_input("schedule {} takes at most {} domains times edge replicas, got {} x {}", kind,
                   kMostReplicas, o.domains, o.edges);
}

}  // namespace

std::span<const std::string> known_kinds() { return kKnown; }

Result<Schedule> layout_of(std::string_view kind, const GenerateOptions& options) {
  HAIRPIN_CHECK_OK(check_kind(kind));
  const Shape shape = shape_of(kind, options);
  HAIRPIN_CHECK_OK(check_shape(kind, shape));
  HAIRPIN_CHECK_OK(check_counts(kind, shape, options));
  HAIRPIN_CHECK_OK(check_edges(kind, shape, options));
  Schedule layout = empty_layout(kind, shape, options);
  if (options.split_backward || kind == "zb-h1") mark_split(layout);
  return layout;
}

Result<GenerateOptions> with_caps_by_stage(std::string_view kind, const Schedule& layout,
                                           GenerateOptions options) {
  std::vector<int>& pending = options.pending_weights_cap;
  if (pending.empty()) pending = {options.pp};
  HAIRPIN_CHECK_OK(spread_caps(kind, layout, "microbatches in flight", options.in_flight_cap));
  HAIRPIN_CHECK_OK(spread_caps(kind, layout, "pending weights", pending));
  return options;
}

Result<Schedule> generate(std::string_view kind, const GenerateOptions& asked) {
  HAIRPIN_TRY(const Schedule layout, layout_of(kind, asked));
  HAIRPIN_TRY(const GenerateOptions options, with_caps_by_stage(kind, layout, asked));
  const Times times = options.times.value_or(unit_times(layout));
  HAIRPIN_TRY(const Costs costs, to_costs(layout, times));
  if (kind == "hairpin-adaptive") {
    HAIRPIN_CHECK_OK(check_replicas(kind, options));
    return adaptive(layout, options, times, costs);
  }
  Schedule schedule = fixed(kind, shape_of(kind, options), options, costs);
  if (options.in_flight_cap.empty()) return schedule;
  HAIRPIN_CHECK_OK(check(schedule, {.in_flight_cap = options.in_flight_cap}));
  return schedule;
}

}  // namespace hairpin::schedule

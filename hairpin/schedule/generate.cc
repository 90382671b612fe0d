#include "hairpin/schedule/generate.h"

#include <algorithm>
#include <array>

#include "hairpin/base/nearest.h"
#include "hairpin/schedule/hairpin.h"
#include "hairpin/schedule/line.h"

namespace hairpin::schedule {
namespace {

const std::array<std::string, 3> kKnown = {"gpipe", "1f1b", "hairpin-1f1b"};
const std::array<std::string, 2> kPlanned = {"interleaved", "hairpin-adaptive"};

template <class Names>
bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Result<void> check_kind(std::string_view kind) {
  if (contains(kKnown, kind)) return {};
  if (contains(kPlanned, kind))
    return bad_input("schedule kind \"{}\" is not built yet; use gpipe, 1f1b or hairpin-1f1b",
                     kind);
  if (const auto near = nearest_word(kind, kKnown))
    return bad_input("unknown schedule kind \"{}\"; did you mean \"{}\"?", kind, *near);
  return bad_input("unknown schedule kind \"{}\"; use gpipe, 1f1b or hairpin-1f1b", kind);
}

Result<void> check_shape(std::string_view kind, Shape shape) {
  if (kind == "1f1b" && shape == Shape::hairpin)
    return bad_input(
        "schedule 1f1b has no order for an edge that holds head and tail; use hairpin-1f1b");
  if (kind == "hairpin-1f1b" && shape == Shape::line)
    return bad_input(
        "schedule hairpin-1f1b needs an edge that holds head and tail; use 1f1b on a line of "
        "ranks");
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
  if (2.0 * stages * o.microbatches * o.domains > static_cast<double>(kMaxOps))
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

}  // namespace

std::span<const std::string> known_kinds() { return kKnown; }

Result<Schedule> generate(std::string_view kind, const GenerateOptions& options) {
  HAIRPIN_CHECK_OK(check_kind(kind));
  const Shape shape =
      options.shape.value_or(kind.starts_with("hairpin-") ? Shape::hairpin : Shape::line);
  HAIRPIN_CHECK_OK(check_shape(kind, shape));
  HAIRPIN_CHECK_OK(check_counts(kind, shape, options));
  HAIRPIN_CHECK_OK(check_edges(kind, shape, options));
  const auto [pp, m, domains, edges, _] = options;
  if (kind == "1f1b") return line_1f1b(pp, m, domains);
  if (kind == "hairpin-1f1b") return hairpin_1f1b(pp, m, {domains, edges});
  return shape == Shape::line ? line_gpipe(pp, m, domains) : hairpin_gpipe(pp, m, {domains, edges});
}

}  // namespace hairpin::schedule

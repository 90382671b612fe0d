#include "hairpin/train/site_groups.h"

#include <optional>

#include "hairpin/arch/divide.h"
#include "hairpin/tensor/memory_meter.h"

namespace hairpin::train {
namespace {

using mesh::Axis;

// What a rank's communication thread allocates is the rank's.
std::function<void()> inherit_meter() {
  return [meter = current_memory_meter()] {
    static thread_local std::optional<MeterScope> scope;
    scope.emplace(meter, MemoryUse::activations);
  };
}

}  // namespace

SiteGroups::SiteGroups(const Setup& setup, metrics::Trace* trace)
    : sequence_parallel_(setup.site().sequence_parallel), mesh_(setup.mesh()), trace_(trace) {
  world_.on_worker_start(inherit_meter);
  if (trace_ != nullptr) world_.on_span([this](const collective::Span& span) { record(span); });
  const int tp = mesh_.degree(Axis::tp);
  const auto copies = static_cast<int>(arch::key_value_copies(setup.model.architecture, tp));
  const int last = mesh_.degree(Axis::pp) - 1;
  const bool tied =
      setup.part == Part::whole && last > 0 && setup.model.architecture.tie_word_embeddings;
  for (int rank = 0; rank < mesh_.num_ranks(); ++rank) {
    const auto at = mesh_.coordinate(rank);
    const auto name = [&](const char* axis) {
      return fmt::format("{} group of {}", axis, setup.rank_name(at));
    };
    if (tp > 1 && at.tp == 0) make(tp_, "tp", mesh_.group(rank, Axis::tp), name("tp"));
    if (copies > 1 && copies < tp && at.tp % copies == 0)
      make(copies_, "tp", mesh_.subgroup(rank, Axis::tp, copies), name("K/V"));
    if (mesh_.degree(Axis::dp) > 1 && at.dp == 0)
      make(dp_, "dp", mesh_.group(rank, Axis::dp), name("dp"));
    if (tied && at.pp == 0) {
      auto end = at;
      end.pp = last;
      make(tied_, "pp", {rank, mesh_.rank(end)}, name("tied embedding"));
    }
  }
}

parallel::TensorParallel SiteGroups::tensor_parallel(int rank) const {
  return {.group = at(tp_, rank), .copies = at(copies_, rank), .sequence = sequence_parallel_};
}

Moved SiteGroups::moved(int rank) const {
  const auto bytes = [&](const Members& members) {
    const auto* group = at(members, rank);
    return group == nullptr ? 0 : group->traffic().bytes;
  };
  return {.tp = bytes(tp_) + bytes(copies_), .dp = bytes(dp_), .pp = bytes(tied_)};
}

collective::Group* SiteGroups::at(const Members& members, int rank) {
  const auto found = members.find(rank);
  return found == members.end() ? nullptr : found->second.get();
}

void SiteGroups::make(Members& members, const char* axis, std::vector<int> ranks,
                      const std::string& name) {
  auto made = world_.make_group(static_cast<int>(ranks.size()), name);
  for (std::size_t i = 0; i < ranks.size(); ++i) members[ranks[i]] = std::move(made[i]);
  for (const int rank : ranks)
    if (trace_ != nullptr && axis != std::string_view("pp"))  // whose calls all block
      trace_->name_thread(
          worker_thread(rank, axis),
          fmt::format("{}, {} communication", coordinate_text(mesh_.coordinate(rank)), axis));
  tracks_[name] = {axis, std::move(ranks)};
}

// The trace's number of a rank's communication thread.
int SiteGroups::worker_thread(int rank, std::string_view axis) const {
  return rank + mesh_.num_ranks() * (axis == "dp" ? 1 : 2);
}

void SiteGroups::record(const collective::Span& span) const {
  const auto& track = tracks_.find(span.group)->second;
  const int rank = track.ranks[static_cast<std::size_t>(span.rank)];
  metrics::TraceEvent event{.name = std::string(span.operation),
                            .category = track.axis,
                            .thread = rank,
                            .begin = span.begin,
                            .end = span.end};
  if (span.on_worker) event.thread = worker_thread(rank, track.axis);
  event.arguments[0] = {"bytes", static_cast<std::int64_t>(span.bytes)};
  trace_->add(std::move(event));
}

}  // namespace hairpin::train

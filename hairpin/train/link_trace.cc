#include "hairpin/train/link_trace.h"

#include <algorithm>

#include "hairpin/schedule/notation.h"
#include "hairpin/wire/frame.h"

namespace hairpin::train {

std::string frame_name(const schedule::Schedule& layout, const wire::Message& message) {
  const auto* tensor = std::get_if<wire::TensorMessage>(&message);
  // A peer may name what there isn't; it is told so elsewhere.
  if (tensor == nullptr || tensor->boundary + 1 >= layout.num_stages() ||
      tensor->domain >= layout.domains ||
      tensor->microbatch >= static_cast<std::uint32_t>(layout.microbatches))
    return std::string(wire::message_name(message));
  schedule::Op op{.stage = tensor->boundary,
                  .microbatch = static_cast<int>(tensor->microbatch),
                  .domain = tensor->domain};
  if (tensor->kind == wire::TensorKind::gradient) {
    ++op.stage;
    op.kind = layout.backward_of(op.stage);
  }
  return schedule::Notation(layout).text(op);
}

LinkTrace::LinkTrace(link::Link& link, metrics::Trace* trace, const schedule::Schedule& layout,
                     int first_thread)
    : link_(link), trace_(trace), layout_(layout), first_thread_(first_thread) {
  if (trace_ == nullptr) return;
  link_.watch([this](const auto& message, const auto& times) { note(message, times); });
}

LinkTrace::~LinkTrace() {
  if (trace_ != nullptr) link_.watch(nullptr);
}

// Called by one thread at a time (link.h).
void LinkTrace::note(const wire::Message& message, const link::FrameTimes& times) {
  if (wire::lane_of(message) != wire::Lane::bulk) return;
  metrics::TraceEvent event{.name = frame_name(layout_, message),
                            .category = "link",
                            .thread = track_for(times),
                            .begin = times.began,
                            .end = times.ended};
  using std::chrono::microseconds;
  event.arguments[0] = {"bytes", static_cast<std::int64_t>(times.bytes)};
  event.arguments[1] = {"queued_us",
                        std::chrono::duration_cast<microseconds>(times.queueing).count()};
  if (const auto* tensor = std::get_if<wire::TensorMessage>(&message))
    event.arguments[2] = {"step", std::int64_t{tensor->step} + 1};
  trace_->add(std::move(event));
}

// Frames come in the order of their ends. The first track that is free; the last one takes what
// finds none.
int LinkTrace::track_for(const link::FrameTimes& times) {
  auto& ends = ends_[times.sent ? 1 : 0];
  const auto free = std::ranges::find_if(ends, [&](const auto& end) { return end <= times.began; });
  auto track = free - ends.begin();
  if (free == ends.end() && std::ssize(ends) == kTracks) --track;
  const int thread = first_thread_ + (times.sent ? 0 : kTracks) + static_cast<int>(track);
  if (track == std::ssize(ends)) {
    ends.emplace_back();
    const auto* name = times.sent ? "link sent" : "link received";
    trace_->name_thread(thread, track == 0 ? name : fmt::format("{} ({})", name, track + 1));
  }
  ends[static_cast<std::size_t>(track)] = times.ended;
  return thread;
}

}  // namespace hairpin::train

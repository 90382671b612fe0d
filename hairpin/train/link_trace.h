// Tracks of the link in a run's trace: a span for each bulk frame, from its first byte to its last
// as this site's end saw it, named like the op whose result it carries ("F3"), any other by its
// message's name; with its bytes, the microseconds it was queued and its step.
#pragma once

#include <array>
#include <mutex>
#include <vector>

#include "hairpin/link/link.h"
#include "hairpin/metrics/trace.h"
#include "hairpin/schedule/schedule.h"

namespace hairpin::train {

// Watches the link from its making to its end.
class LinkTrace {
 public:
  // Where frames overlap: spans of one thread of a trace may not, so the next track takes them.
  static constexpr int kTracks = 4;  // of a direction

  // Takes the 2 x kTracks thread numbers from `first_thread` on. `trace` may be null: nothing is
  // watched. All must outlive this.
  LinkTrace(link::Link& link, metrics::Trace* trace, const schedule::Schedule& layout,
            int first_thread);
  LinkTrace(const LinkTrace&) = delete;
  ~LinkTrace();

 private:
  void note(const wire::Message& message, const link::FrameTimes& times);
  int track_for(const link::FrameTimes& times);

  link::Link& link_;
  metrics::Trace* const trace_;
  const schedule::Schedule& layout_;
  const int first_thread_;
  std::array<std::vector<link::Moment>, 2> ends_;  // received, sent: by track, its last span's end
};

// What a frame is called in a trace.
std::string frame_name(const schedule::Schedule& layout, const wire::Message& message);

}  // namespace hairpin::train

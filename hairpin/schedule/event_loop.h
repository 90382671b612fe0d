// Ranks and a link in time: the one model that the simulator and the list scheduler share. Sums and
// maxima of the costs are all it computes, so whole-numbered costs give exact times, equal on every
// machine. One thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "hairpin/schedule/costs.h"
#include "hairpin/schedule/op_index.h"
#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

// One message on the link.
struct Crossing {
  Op op;                                               // whose result it is
  bool up = false;                                     // from the edge to the cloud
  double queued = 0, start = 0, end = 0, arrival = 0;  // end - start is its transfer time
};

class EventLoop {
 public:
  // Both must outlive the loop and have passed their checks. The layout's lists aren't read.
  EventLoop(const Schedule& layout, const Costs& costs);

  // What RANK, idle at NOW, starts: an op of its own whose input has arrived. Nothing: it waits for
  // the next end of an op or arrival of an input at this rank.
  using Choose = std::function<std::optional<Op>(int rank, double now)>;
  using Started = std::function<void(int rank, const Op& op, double start, double end)>;

  // From time 0 with every rank idle and nothing in flight, until all are idle and nothing is under
  // way. All that happens at one time has happened before a rank chooses; ranks choose in
  // ascending order, and their messages queue in that order.
  void run(const Choose& choose, const Started& started);

  // When OP's input is at its rank; infinity: not known yet. A time to come: it is on the link.
  double arrival(const Op& op) const { return arrival_[index_.of(op)]; }

  const std::vector<Crossing>& crossings() const { return crossings_; }  // by time of queueing

 private:
  struct Event {
    double time;
    int rank;
    std::size_t op;  // that ended; kWake: an input arrived
  };
  static bool later(const Event& a, const Event& b);

  void push(const Event& event);
  Event pop();
  void handle(const Event& event);
  void wake(int rank);
  void deliver(const Op& source, const Op& reader, double now);
  double cross(const Op& source, bool up, double now);

  const Schedule& layout_;
  const Costs& costs_;
  OpIndex index_;
  std::vector<double> arrival_;             // by op
  std::vector<int> rank_of_;                // by stage and number of the microbatch
  std::array<double, 2> direction_free_{};  // up, down
  std::vector<char> idle_, awake_;          // by rank
  std::vector<int> to_wake_;
  std::vector<Event> events_;  // a heap, the earliest first
  std::vector<Crossing> crossings_;
};

}  // namespace hairpin::schedule

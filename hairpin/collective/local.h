// The backend whose ranks are threads of one process.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hairpin/collective/group.h"

namespace hairpin::collective {

// What a rank did in a group, and when.
struct Span {
  std::string_view group;      // its name; valid during the call, like `operation`
  std::string_view operation;  // "all_reduce", or "wait all_reduce": the rank's thread stood still
  int rank = 0;                // in the group
  bool on_worker = false;      // an asynchronous operation; else the rank's own thread
  std::uint64_t bytes = 0;     // read from other ranks; 0 for a wait
  std::chrono::steady_clock::time_point begin, end;
};
using SpanHook = std::function<void(const Span&)>;

// Called on a rank's thread when that makes its first asynchronous call in a group; what it returns
// (or nothing) then runs first on the group's new worker thread of that rank.
using WorkerStartHook = std::function<std::function<void()>()>;

// All groups of one site's process: they fail together. Thread-safe. Outlives its groups.
//
// Asynchronous operations run on one worker thread a rank and group. A reduction is spread over the
// ranks: each reduces its own share, then copies those of the others.
//
// Ranks whose calls don't fit together (other operation, other sizes, a wait that cannot end) fail
// the world with a check's message that names the group and both calls.
class LocalWorld {
 public:
  LocalWorld();
  ~LocalWorld();

  // Before the first group is made. Hooks must not throw; those of several ranks run concurrently.
  void on_worker_start(WorkerStartHook hook);
  void on_span(SpanHook hook);  // called on the thread concerned; groups of one rank have no spans

  // A new group: member r belongs to its rank r's thread. Size 1 is fine: nothing waits or moves.
  // A rank whose thread ends by an exception must call `fail`.
  std::vector<std::unique_ptr<Group>> make_group(int size, std::string name);

  // Ends everything that waits in any group, now and later, with the first failure reported.
  void fail(Error error);
  std::optional<Error> error() const;

  struct State;  // private to the backend

 private:
  std::shared_ptr<State> state_;
};

}  // namespace hairpin::collective

// Collective operations among the ranks of a group. One small interface; each backend is a folder
// of its own file pair (local.h: ranks are threads of one process), and passes conformance_test.
//
// Every rank of a group makes the same calls in the same order, with sizes that fit together. A
// reduction adds in rank order, ((x0 + x1) + x2) + ..., so its bits depend neither on what arrives
// first nor on the backend, and all ranks get the same bits.
//
// Each operation also comes asynchronously: it is queued behind the rank's earlier ones on the
// group, and its buffers belong to it until `wait`. A blocking call waits for those before it.
//
// When a rank fails (see World::fail), what waits anywhere in its world ends at once by throwing
// Aborted with the first failure, and so does every later call.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "hairpin/base/result.h"

namespace hairpin::collective {

enum class Reduction { sum, max };  // max: NaN wins

class Aborted : public std::runtime_error {
 public:
  explicit Aborted(Error error) : std::runtime_error(error.message), error_(std::move(error)) {}
  const Error& error() const { return error_; }  // the first failure of the world

 private:
  Error error_;
};

// What an operation moved: bytes that this rank got from other ranks, by the formulas of a
// bandwidth-optimal algorithm on n ranks and S bytes of a whole buffer (all-gather and
// reduce-scatter S (n-1)/n, all-reduce twice that, broadcast S for all but the root, ...), counted
// where they are read. `seconds`: time the operations took; `exposed_seconds`: time their rank
// stood still for them.
struct Traffic {
  std::uint64_t operations = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;
  double exposed_seconds = 0;
};

// Handle of an asynchronous operation; movable. Destruction without `wait` waits (and drops an
// Aborted); while an exception unwinds, it gives the operation up unless all ranks have come to it,
// so that the rank gets to report its own failure.
class Work {
 public:
  class State;
  Work() = default;  // done already
  explicit Work(std::shared_ptr<State> state);
  Work(Work&&) noexcept = default;
  Work& operator=(Work&& other);
  ~Work();
  void wait();  // throws Aborted, or what the operation threw
  bool done() const;

 private:
  std::shared_ptr<State> state_;
};

struct Operation;

using Counts = std::span<const std::int64_t>;  // elements, one a rank

// One rank's membership in a group. Used by one thread at a time.
class Group {
 public:
  virtual ~Group() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  virtual const std::string& name()
      const = 0;  // "tp group of cloud rank pp 0, dp 1, tp 0", for errors

  // `data` on all ranks becomes the reduction of all.
  void all_reduce(std::span<float> data, Reduction reduction = Reduction::sum);
  void all_reduce(std::span<double> data, Reduction reduction = Reduction::sum);
  Work all_reduce_async(std::span<float> data, Reduction reduction = Reduction::sum);

  // `whole` (counts summed) is cut by `counts`; `own` (counts[rank]) gets the sum over all ranks'
  // `whole` of this rank's piece. `own` may be that piece of `whole` itself. Other pieces of
  // `whole` keep their values.
  void reduce_scatter(std::span<float> whole, std::span<float> own, Counts counts);
  Work reduce_scatter_async(std::span<float> whole, std::span<float> own, Counts counts);

  // The inverse movement: every rank's `own` (counts[rank]) into its piece of `whole` on all ranks.
  // `own` may be this rank's piece of `whole`.
  void all_gather(std::span<const float> own, std::span<float> whole, Counts counts);
  void all_gather(std::span<const double> own, std::span<double> whole, Counts counts);
  Work all_gather_async(std::span<const float> own, std::span<float> whole, Counts counts);

  void broadcast(std::span<float> data, int root);
  Work broadcast_async(std::span<float> data, int root);
  // Piece r of the root's `whole` goes to rank r's `own`; `whole` is read on the root only.
  void scatter(std::span<const float> whole, std::span<float> own, Counts counts, int root);
  // `in` cut by in_counts: piece r goes to rank r; `out` gets, in rank order, out_counts[r]
  // elements from rank r.
  void all_to_all(std::span<const float> in, Counts in_counts, std::span<float> out,
                  Counts out_counts);
  // `send` copies and returns without waiting for its `receive`. Messages between two ranks arrive
  // in the order sent.
  void send(std::span<const float> data, int to);
  void receive(std::span<float> data, int from);
  void barrier();

  // Where ranks share memory, each may read the others' objects in place of receiving a copy. All
  // ranks get all ranks' pointers, by rank; what they point to must no longer be written to.
  // `bytes` is the size of this rank's object; traffic counts an all-gather. Null pointers are
  // fine.
  virtual bool shares_memory() const = 0;
  virtual std::vector<std::shared_ptr<const void>> exchange(std::shared_ptr<const void> own,
                                                            std::uint64_t bytes) = 0;

  virtual Traffic traffic() const = 0;  // of this rank, so far; thread-safe

 protected:
  // Where a backend plugs in (operation.h): every operation above, blocking and asynchronous.
  virtual void run(Operation operation) = 0;
  virtual std::shared_ptr<Work::State> start(Operation operation) = 0;
};

}  // namespace hairpin::collective

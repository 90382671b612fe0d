// One collective operation with its types erased: what Group hands to a backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hairpin/collective/group.h"

namespace hairpin::collective {

enum class Kind {
  all_reduce,
  reduce_scatter,
  all_gather,
  broadcast,
  scatter,
  all_to_all,
  send,
  receive,
  barrier,
  exchange,
};
std::string_view kind_name(Kind kind);       // "all_reduce"
std::string_view kind_wait_name(Kind kind);  // "wait all_reduce"

enum class Element { f32, f64 };
constexpr std::int64_t element_bytes(Element element) { return element == Element::f32 ? 4 : 8; }

using Objects = std::vector<std::shared_ptr<const void>>;

// Sizes are counts of elements. Which fields a kind uses:
//   all_reduce, broadcast    out: the data, in place
//   reduce_scatter, scatter  in: whole, cut by in_counts; out: own
//   all_gather               in: own; out: whole, cut by out_counts
//   all_to_all               in cut by in_counts; out cut by out_counts
//   send, receive            in; out; `root` is the other rank
//   exchange                 object and its size; objects: where all ranks' go
struct Operation {
  Kind kind = Kind::barrier;
  Element element = Element::f32;
  Reduction reduction = Reduction::sum;
  int root = 0;
  const void* in = nullptr;
  std::int64_t in_size = 0;
  void* out = nullptr;
  std::int64_t out_size = 0;
  std::vector<std::int64_t> in_counts, out_counts;
  std::shared_ptr<const void> object;
  std::uint64_t object_bytes = 0;
  Objects* objects = nullptr;
};

// "all_reduce (sum) of 5 floats": the call, for an error.
std::string describe(const Operation& operation);

// A call's arguments fit one another on the rank that makes it; else a failed check that names
// `group`, the call and the sizes.
void check_arguments(const Operation& operation, std::string_view group, int rank, int size);

// The calls that all ranks (by index) make at the same position fit one another; else a failed
// check that names `group` and both calls.
void check_agreement(std::span<const Operation* const> operations, std::string_view group);

// What a backend keeps behind a Work. Used by the thread that made the call.
class Work::State {
 public:
  virtual ~State() = default;
  virtual void wait() = 0;  // at most once
  virtual bool done() const = 0;
  // The rank is failing: ends the operation if the others haven't all come to it yet. It and its
  // rank's later ones throw; the others are left to learn the cause from the world.
  virtual void abandon() noexcept = 0;
};

}  // namespace hairpin::collective

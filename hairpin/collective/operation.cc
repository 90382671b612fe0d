#include "hairpin/collective/operation.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "hairpin/base/check.h"

namespace hairpin::collective {
namespace {

constexpr std::array<std::string_view, 10> kWaitNames{
    "wait all_reduce", "wait reduce_scatter", "wait all_gather", "wait broadcast", "wait scatter",
    "wait all_to_all", "wait send",           "wait receive",    "wait barrier",   "wait exchange",
};

void check_counts(const Operation& op, std::string_view group, int size,
                  const std::vector<std::int64_t>& counts, std::int64_t whole) {
  HAIRPIN_CHECK(counts.size() == static_cast<std::size_t>(size),
                "{}: {} with {} counts on {} ranks", group, describe(op), counts.size(), size);
  HAIRPIN_CHECK(std::ranges::all_of(counts, [](auto count) { return count >= 0; }),
                "{}: {} with a negative count", group, describe(op));
  const auto sum = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  HAIRPIN_CHECK(sum == whole, "{}: {} whose counts sum to {} in a buffer of {}", group,
                describe(op), sum, whole);
}

void check_piece(const Operation& op, std::string_view group, std::int64_t count,
                 std::int64_t own) {
  HAIRPIN_CHECK(count == own, "{}: {} whose own piece has {} elements in a buffer of {}", group,
                describe(op), count, own);
}

bool agree(const Operation& a, const Operation& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Kind::all_reduce:
      return a.element == b.element && a.reduction == b.reduction && a.out_size == b.out_size;
    case Kind::reduce_scatter: return a.element == b.element && a.in_counts == b.in_counts;
    case Kind::all_gather: return a.element == b.element && a.out_counts == b.out_counts;
    case Kind::broadcast:
      return a.element == b.element && a.root == b.root && a.out_size == b.out_size;
    case Kind::scatter:
      return a.element == b.element && a.root == b.root && a.in_counts == b.in_counts;
    case Kind::all_to_all: return a.element == b.element;  // counts differ by rank: see below
    default: return true;
  }
}

void check_all_to_all(std::span<const Operation* const> ops, std::string_view group) {
  for (std::size_t from = 0; from < ops.size(); ++from)
    for (std::size_t to = 0; to < ops.size(); ++to) {
      const auto gives = ops[from]->in_counts[to], takes = ops[to]->out_counts[from];
      HAIRPIN_CHECK(gives == takes,
                    "{}: all_to_all gives {} elements from rank {} to rank {}, which takes {}",
                    group, gives, from, to, takes);
    }
}

}  // namespace

std::string_view kind_wait_name(Kind kind) { return kWaitNames.at(static_cast<std::size_t>(kind)); }

std::string_view kind_name(Kind kind) {
  return kind_wait_name(kind).substr(std::string_view("wait ").size());
}

std::string describe(const Operation& op) {
  const auto elements = op.element == Element::f32 ? "floats" : "doubles";
  const auto name = kind_name(op.kind);
  switch (op.kind) {
    case Kind::all_reduce:
      return fmt::format("{} ({}) of {} {}", name, op.reduction == Reduction::sum ? "sum" : "max",
                         op.out_size, elements);
    case Kind::reduce_scatter:
      return fmt::format("{} of [{}] {}", name, fmt::join(op.in_counts, ", "), elements);
    case Kind::all_gather:
      return fmt::format("{} of [{}] {}", name, fmt::join(op.out_counts, ", "), elements);
    case Kind::broadcast:
      return fmt::format("{} of {} {} from rank {}", name, op.out_size, elements, op.root);
    case Kind::scatter:
      return fmt::format("{} of [{}] {} from rank {}", name, fmt::join(op.in_counts, ", "),
                         elements, op.root);
    case Kind::all_to_all:
      return fmt::format("{} of [{}] to [{}] {}", name, fmt::join(op.in_counts, ", "),
                         fmt::join(op.out_counts, ", "), elements);
    case Kind::send:
      return fmt::format("{} of {} {} to rank {}", name, op.in_size, elements, op.root);
    case Kind::receive:
      return fmt::format("{} of {} {} from rank {}", name, op.out_size, elements, op.root);
    case Kind::barrier:
    case Kind::exchange: break;
  }
  return std::string(name);
}

void check_arguments(const Operation& op, std::string_view group, int rank, int size) {
  HAIRPIN_CHECK(op.root >= 0 && op.root < size, "{}: {} in a group of {}", group, describe(op),
                size);
  const auto own = static_cast<std::size_t>(rank);
  switch (op.kind) {
    case Kind::reduce_scatter:
      check_counts(op, group, size, op.in_counts, op.in_size);
      return check_piece(op, group, op.in_counts[own], op.out_size);
    case Kind::all_gather:
      check_counts(op, group, size, op.out_counts, op.out_size);
      return check_piece(op, group, op.out_counts[own], op.in_size);
    case Kind::scatter: {
      const auto sum = std::accumulate(op.in_counts.begin(), op.in_counts.end(), std::int64_t{0});
      check_counts(op, group, size, op.in_counts, rank == op.root ? op.in_size : sum);
      return check_piece(op, group, op.in_counts[own], op.out_size);
    }
    case Kind::all_to_all:
      check_counts(op, group, size, op.in_counts, op.in_size);
      return check_counts(op, group, size, op.out_counts, op.out_size);
    case Kind::send:
    case Kind::receive:
      HAIRPIN_CHECK(op.root != rank, "{}: {} by that rank itself", group, describe(op));
      return;
    default: return;
  }
}

void check_agreement(std::span<const Operation* const> ops, std::string_view group) {
  for (std::size_t rank = 1; rank < ops.size(); ++rank)
    HAIRPIN_CHECK(agree(*ops[0], *ops[rank]), "{}: rank 0 calls {}, rank {} calls {}", group,
                  describe(*ops[0]), rank, describe(*ops[rank]));
  if (ops[0]->kind == Kind::all_to_all) check_all_to_all(ops, group);
}

}  // namespace hairpin::collective

// The ranks of one site as a grid of parallel axes.
//
// A rank's number counts tp fastest, then cp, then dp, then pp, as Megatron-LM's default order:
//   rank = ((pp * degree(dp) + dp) * degree(cp) + cp) * degree(tp) + tp.
// So the ranks of a tensor-parallel group, which talk most, are neighbours.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace hairpin::mesh {

enum class Axis { pp, dp, cp, tp };
inline constexpr std::array kAxes{Axis::pp, Axis::dp, Axis::cp, Axis::tp};
std::string_view axis_name(Axis axis);  // "pp"

// A place in the grid, or, as degrees, the grid's extent.
struct Coordinate {
  int pp = 0, dp = 0, cp = 0, tp = 0;
  int& operator[](Axis axis);
  int operator[](Axis axis) const;
  bool operator==(const Coordinate&) const = default;
};
std::string coordinate_text(const Coordinate& at);  // "pp 1, dp 0, tp 3"; cp only when it isn't 0

// Immutable, thread-safe.
class Mesh {
 public:
  // Degrees, each at least 1.
  explicit Mesh(const Coordinate& degrees);

  int degree(Axis axis) const { return degrees_[axis]; }
  int num_ranks() const;
  Coordinate coordinate(int rank) const;
  int rank(const Coordinate& at) const;
  // The ranks that differ from `rank` along `axis` only, itself included, by that coordinate.
  std::vector<int> group(int rank, Axis axis) const;
  // The same cut into runs of `size` neighbours (a divisor of the degree): the run `rank` is in.
  std::vector<int> subgroup(int rank, Axis axis, int size) const;

 private:
  Coordinate degrees_;
};

}  // namespace hairpin::mesh

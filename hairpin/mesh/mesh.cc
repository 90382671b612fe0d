#include "hairpin/mesh/mesh.h"

#include <fmt/core.h>

#include <limits>

#include "hairpin/base/check.h"

namespace hairpin::mesh {

std::string_view axis_name(Axis axis) {
  switch (axis) {
    case Axis::pp: return "pp";
    case Axis::dp: return "dp";
    case Axis::cp: return "cp";
    case Axis::tp: return "tp";
  }
  HAIRPIN_CHECK(false, "no axis {}", static_cast<int>(axis));
  return {};
}

int& Coordinate::operator[](Axis axis) {
  switch (axis) {
    case Axis::pp: return pp;
    case Axis::dp: return dp;
    case Axis::cp: return cp;
    case Axis::tp: break;
  }
  return tp;
}

int Coordinate::operator[](Axis axis) const { return Coordinate(*this)[axis]; }

std::string coordinate_text(const Coordinate& at) {
  const auto cp = at.cp != 0 ? fmt::format("cp {}, ", at.cp) : std::string();
  return fmt::format("pp {}, dp {}, {}tp {}", at.pp, at.dp, cp, at.tp);
}

Mesh::Mesh(const Coordinate& degrees) : degrees_(degrees) {
  std::int64_t ranks = 1;
  for (const auto axis : kAxes) {
    HAIRPIN_CHECK(degree(axis) >= 1, "degree {} along {}", degree(axis), axis_name(axis));
    ranks *= degree(axis);
    HAIRPIN_CHECK(ranks <= std::numeric_limits<int>::max(), "more ranks than an int counts");
  }
}

int Mesh::num_ranks() const { return degrees_.pp * degrees_.dp * degrees_.cp * degrees_.tp; }

Coordinate Mesh::coordinate(int rank) const {
  HAIRPIN_CHECK(rank >= 0 && rank < num_ranks(), "rank {} of {}", rank, num_ranks());
  Coordinate at;
  for (auto axis = kAxes.rbegin(); axis != kAxes.rend(); ++axis) {
    at[*axis] = rank % degree(*axis);
    rank /= degree(*axis);
  }
  return at;
}

int Mesh::rank(const Coordinate& at) const {
  int rank = 0;
  for (const auto axis : kAxes) {
    HAIRPIN_CHECK(at[axis] >= 0 && at[axis] < degree(axis), "{} {} of {}", axis_name(axis),
                  at[axis], degree(axis));
    rank = rank * degree(axis) + at[axis];
  }
  return rank;
}

std::vector<int> Mesh::group(int rank, Axis axis) const {
  return subgroup(rank, axis, degree(axis));
}

std::vector<int> Mesh::subgroup(int rank, Axis axis, int size) const {
  HAIRPIN_CHECK(size >= 1 && degree(axis) % size == 0, "runs of {} along {} of degree {}", size,
                axis_name(axis), degree(axis));
  auto at = coordinate(rank);
  const int first = at[axis] / size * size;
  std::vector<int> ranks;
  for (at[axis] = first; at[axis] < first + size; ++at[axis]) ranks.push_back(this->rank(at));
  return ranks;
}

}  // namespace hairpin::mesh

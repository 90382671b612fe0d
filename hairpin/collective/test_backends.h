// The backends as conformance_test runs them.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "hairpin/collective/group.h"

namespace hairpin::collective {

using FailWorld = std::function<void(Error)>;

// What one rank does. Ranks may be threads or processes, so a body shares nothing with the other
// ranks' but what it was made with and what the group brings. A body that throws fails the test.
using RankBody = std::function<void(Group& group, const FailWorld& fail)>;

struct Backend {
  std::string name;
  // Runs `body` on each rank of a new group named "test group", in a world of its own.
  std::function<void(int size, const RankBody& body)> run;
};

inline std::ostream& operator<<(std::ostream& out, const Backend& backend) {
  return out << backend.name;
}

std::vector<Backend> all_backends();

}  // namespace hairpin::collective

// Ops as people write them: FS1 (forward of the head), FE1 (of the tail), BS1 (backward of the
// tail), BE1 (of the head), F1 and B1 for every other stage; microbatches count from 1. A split
// backward is Bi1, its input gradient, and Bw1, its weights' gradients (BSi1, BSw1, BEi1, BEw1).
// With more than one domain the domain follows: FS1.0. Pure functions, thread-safe.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/schedule/schedule.h"

namespace hairpin::schedule {

// How the ops of one schedule are written.
class Notation {
 public:
  explicit Notation(const Schedule& schedule)
      : Notation(schedule.num_stages(), schedule.is_hairpin(), schedule.domains > 1) {}
  // `edge_names`: the first and the last stage are head and tail.
  Notation(int num_stages, bool edge_names, bool domains)
      : num_stages_(num_stages), edge_names_(edge_names), domains_(domains) {}

  std::string text(const Op& op) const;

 private:
  int num_stages_;
  bool edge_names_, domains_;
};

// The op that TEXT means in RANK's list; `layout` gives stages and domains, its lists are not read.
// Errors (bad_input): another form, a letter pair the rank doesn't have, a number out of range.
Result<Op> parse_op(const Schedule& layout, int rank, std::string_view text);

// "edge", "cloud 2", "rank 3", the number being the position in the pipeline; with several domains
// "cloud 2 domain 1", with several edge replicas "edge replica 1".
std::vector<std::string> rank_labels(const Schedule& schedule);

// One line a list: its label, padded, and its ops separated by spaces.
std::string ops_table(const std::vector<std::vector<Op>>& lists,
                      std::span<const std::string> labels, const Notation& notation);

// {"ranks":[["FS1",...],...]} and a line feed.
std::string ops_json(const std::vector<std::vector<Op>>& lists, const Notation& notation);

}  // namespace hairpin::schedule

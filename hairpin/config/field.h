// The one table of a job's keys. Loading, range checks, hints for typos, the resolved file and the
// tables of docs/config.md all read it; a new key is a struct field and a line in fields.cc.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hairpin/config/document.h"
#include "hairpin/config/job.h"

namespace hairpin::config {

// What is wrong with a value and what to do, as the end of a sentence; none: nothing.
using Complaint = std::optional<std::string>;

struct Field {
  std::string table, key;
  bool required = false;                                     // where its table is
  std::string takes;                                         // "a whole number, 1 to 256"
  std::string meaning;                                       // for docs/config.md
  std::function<Complaint(const Value&, Job&)> store;        // leaves the job alone on a complaint
  std::function<std::optional<Value>(const Job&)> value_in;  // none: has no value
};

// In the order of the reference; the fields of a table are next to each other.
const std::vector<Field>& fields();

// The tables, in that order.
std::vector<std::string> table_names();

// Whether a job of this form may have the table: [split], [edge], [cloud] and [link] need a split,
// [site] needs none.
bool table_applies(std::string_view table, bool has_split);

}  // namespace hairpin::config

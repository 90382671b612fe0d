// What to say about a run when it is over. Pure, thread-safe.
#pragma once

#include <string>

#include "hairpin/base/result.h"
#include "hairpin/schedule/costs.h"
#include "hairpin/schedule/generate.h"
#include "hairpin/schedule/record.h"

namespace hairpin::schedule {

// The options that make a schedule of RECORD's layout, at its times and within its caps.
GenerateOptions options_of(const Record& record);

// "cloud 2 busy 96 %, the link down 71 %, the edge waits 3 %; half the latency would help most:
// step 567 -> 403 ms (-29 %)", or that nothing alone would gain 1 %: of the record in force at the
// end, by simulation at its times. "" without times. Takes as long as a few searches for a
// schedule. Errors (bad_input): a kind that `generate` doesn't know, and what it refuses.
Result<std::string> after_run_line(const Record& record);

// `advice` for RECORD's layout at COSTS, where a step takes STEP. Of hairpin-adaptive against an
// order made for these costs, if that is shorter: what choosing anew gains is no improvement's.
// Errors (bad_input): as `improvements`.
Result<std::string> advice_for(const Record& record, const Costs& costs, double step);

// Microseconds as people read them, without the unit: "567", "56.7", "5.67".
std::string milliseconds_text(double microseconds);

}  // namespace hairpin::schedule

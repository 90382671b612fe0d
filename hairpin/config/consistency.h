// What must hold between keys.
#pragma once

#include "hairpin/base/result.h"
#include "hairpin/config/document.h"
#include "hairpin/config/job.h"

namespace hairpin::config {

// `job` was read from `document`, which says where each key was written.
Result<void> check_consistency(const Job& job, const Document& document);

}  // namespace hairpin::config

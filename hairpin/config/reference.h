// docs/config.md's tables of keys, from the same table that loads them.
#pragma once

#include <string>

namespace hairpin::config {

// Markdown: a section for each table of a job, then the keys that are not built yet.
std::string reference_markdown();

}  // namespace hairpin::config

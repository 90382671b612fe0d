// How everything that crosses the link begins, in every version to come: who speaks, which version.
#pragma once

#include "hairpin/base/bytes.h"
#include "hairpin/base/result.h"

namespace hairpin::wire {

inline constexpr std::size_t kMagicBytes = 6;

void write_magic(ByteWriter& out);

// Refuses another magic, another version (naming both) and bytes cut short.
Result<void> read_magic(ByteReader& in);

}  // namespace hairpin::wire

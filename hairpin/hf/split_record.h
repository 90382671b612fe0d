// hairpin_split.json: what a half of a split model says about itself (docs/checkpoint.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hairpin/hf/digest.h"

namespace hairpin::hf {

inline constexpr std::string_view kSplitFile = "hairpin_split.json";

enum class Half { edge, cloud };
std::string_view half_name(Half half);  // "edge", "cloud"

struct SplitRecord {
  Half half = Half::edge;
  std::vector<std::int64_t> layers;  // as given to `hairpin convert split`: head, cloud ..., tail
  Identity source;                   // of the whole model it was made from
  Digest weights{};                  // of this half's own tensors, by weights_digest
};

// Two lists cut a model at the same places when their first and last entries agree; how the cloud
// shares its layers out is its own business. Both have at least three entries and the same sum.
bool same_cuts(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b);

std::string encode(const SplitRecord& record);
Result<SplitRecord> decode(std::string_view json, std::string_view where);

// Nothing when the directory has no hairpin_split.json: it is a whole model.
Result<std::optional<SplitRecord>> read_split_record(const std::filesystem::path& directory);

}  // namespace hairpin::hf

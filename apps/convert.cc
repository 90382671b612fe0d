#include <fmt/core.h>

#include "apps/commands.h"

namespace hairpin::apps {

Result<void> convert_split(const hf::SplitOptions& options) {
  HAIRPIN_CHECK_OK(hf::split(options));
  fmt::print("{}: the edge's half\n{}: the cloud's half\n", options.edge.string(),
             options.cloud.string());
  return {};
}

Result<void> convert_merge(const MergeOptions& options) {
  HAIRPIN_CHECK_OK(hf::merge(options.edge, options.cloud, options.output));
  fmt::print("{}: the whole model\n", options.output.string());
  return {};
}

}  // namespace hairpin::apps

#include <fmt/core.h>

#include "apps/commands.h"
#include "hairpin/link/keys.h"

namespace hairpin::apps {

Result<void> keys(const KeysOptions& options) {
  HAIRPIN_CHECK_OK(link::make_keys(options.directory, {.days = options.days}));
  const auto directory = options.directory.string();
  fmt::print(
      "{0}/edge and {0}/cloud: certificate, private key and authority of each site, for {1} "
      "days; give each site its own directory only\n",
      directory, options.days);
  return {};
}

}  // namespace hairpin::apps

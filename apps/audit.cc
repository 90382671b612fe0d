#include <fmt/core.h>

#include "apps/commands.h"
#include "hairpin/egress/log.h"

namespace hairpin::apps {

Result<void> audit_log(const AuditLogOptions& options) {
  HAIRPIN_TRY(const auto summary, egress::verify(options.log));
  fmt::print("{}", options.json ? egress::summary_json(summary) : egress::summary_text(summary));
  return {};
}

}  // namespace hairpin::apps

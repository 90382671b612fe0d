#include "hairpin/link/keys.h"

#include <system_error>

#include "hairpin/base/file.h"
#include "hairpin/link/certificate.h"

namespace hairpin::link {

Result<void> make_keys(const std::filesystem::path& directory, const KeyOptions& options) {
  if (options.days < 1 || options.days > 3650)
    return bad_input("--days {}: certificates are valid for 1 to 3650 days; give a number of those",
                     options.days);
  HAIRPIN_CHECK_OK(create_output_directory(directory, "the keys' directory"));
  const auto authority = CertificateAuthority::create({.days = options.days});
  for (const auto role : {wire::Role::edge, wire::Role::cloud}) {
    const auto site = directory / wire::role_name(role);
    std::error_code error;
    std::filesystem::create_directory(site, error);
    std::filesystem::permissions(site, std::filesystem::perms::owner_all, error);
    if (error)
      return bad_input("{}: cannot be created ({}); choose another directory", site.string(),
                       error.message());
    HAIRPIN_CHECK_OK(authority.issue(site, role, {.days = options.days}));
  }
  return {};
}

}  // namespace hairpin::link

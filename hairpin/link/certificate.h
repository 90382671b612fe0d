// Certificates for the link: a small authority that issues one certificate a site.
//
// A certificate says its role by the subject alternative name `urn:hairpin:role:edge` or
// `urn:hairpin:role:cloud` and by its extended key usage (client and server authentication).
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "hairpin/base/result.h"
#include "hairpin/wire/message.h"

namespace hairpin::link {

std::string role_uri(wire::Role role);

// Valid from now + `starts_in_days` for `days`; an hour's grace for clocks that differ.
struct Validity {
  int starts_in_days = 0;
  int days = 365;
};

// An authority with an EC P-256 key of its own, which is never written anywhere: whoever needs
// more certificates makes a new authority.
class CertificateAuthority {
 public:
  static CertificateAuthority create(Validity validity = {});
  CertificateAuthority(CertificateAuthority&&) noexcept;
  ~CertificateAuthority();

  // Writes cert.pem, key.pem (mode 0600) and ca.pem into `directory`, which must exist and hold
  // none of them. The site's key is EC P-256.
  Result<void> issue(const std::filesystem::path& directory, wire::Role role,
                     Validity validity = {}) const;

 private:
  struct Impl;
  explicit CertificateAuthority(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace hairpin::link

// A folder of keys for one test, removed at its end.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>

#include "hairpin/base/temporary_directory.h"
#include "hairpin/link/certificate.h"
#include "hairpin/link/keys.h"

namespace hairpin::link {

class TestKeys {
 public:
  // Both sites' good keys.
  TestKeys() { EXPECT_TRUE(make_keys(directory())); }
  // One site's keys in cert.pem, key.pem and ca.pem of directory().
  TestKeys(const CertificateAuthority& authority, wire::Role role, Validity validity = {}) {
    EXPECT_TRUE(authority.issue(directory(), role, validity));
  }
  const std::filesystem::path& directory() const { return directory_.path(); }

 private:
  TemporaryDirectory directory_;
};

}  // namespace hairpin::link

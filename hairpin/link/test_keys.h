// A folder of keys for one test, removed at its end.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "hairpin/link/certificate.h"
#include "hairpin/link/keys.h"

namespace hairpin::link {

class TestKeys {
 public:
  // Both sites' good keys.
  TestKeys() : directory_(new_directory()) {
    std::filesystem::remove(directory_);
    EXPECT_TRUE(make_keys(directory_));
  }
  // One site's keys in cert.pem, key.pem and ca.pem of directory().
  TestKeys(const CertificateAuthority& authority, wire::Role role, Validity validity = {})
      : directory_(new_directory()) {
    EXPECT_TRUE(authority.issue(directory_, role, validity));
  }
  TestKeys(const TestKeys&) = delete;
  ~TestKeys() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  const std::filesystem::path& directory() const { return directory_; }

 private:
  static std::filesystem::path new_directory() {
    auto name = (std::filesystem::temp_directory_path() / "hairpin-keys-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    return name;
  }
  std::filesystem::path directory_;
};

}  // namespace hairpin::link

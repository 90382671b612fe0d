#include "hairpin/link/keys.h"

#include <gtest/gtest.h>

#include "hairpin/base/file.h"
#include "hairpin/link/test_keys.h"

namespace hairpin::link {
namespace {

TEST(Keys, FilesAndModes) {
  const TestKeys keys;
  const auto mode = [&](const std::string& path) {
    return static_cast<unsigned>(std::filesystem::status(keys.directory() / path).permissions());
  };
  for (const std::string site : {"edge", "cloud"}) {
    EXPECT_EQ(mode(site), 0700u);
    EXPECT_EQ(mode(site + "/key.pem"), 0600u);
    for (const auto* file : {"/cert.pem", "/ca.pem"})
      EXPECT_NE(read_text_file(keys.directory() / (site + file))->find("BEGIN CERTIFICATE"),
                std::string::npos);
  }
  EXPECT_EQ(read_text_file(keys.directory() / "edge/ca.pem").value(),
            read_text_file(keys.directory() / "cloud/ca.pem").value());
  EXPECT_NE(read_text_file(keys.directory() / "edge/key.pem").value(),
            read_text_file(keys.directory() / "cloud/key.pem").value());
}

TEST(Keys, NothingIsOverwritten) {
  const TestKeys keys;
  const auto before = read_text_file(keys.directory() / "edge/key.pem").value();
  const auto again = make_keys(keys.directory());
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, ErrorKind::bad_input);
  EXPECT_FALSE(CertificateAuthority::create().issue(keys.directory() / "edge", wire::Role::edge));
  EXPECT_EQ(read_text_file(keys.directory() / "edge/key.pem").value(), before);
}

TEST(Keys, DaysAreBounded) {
  for (const int days : {0, -1, 3651}) {
    const auto made = make_keys("keys-never-made", {.days = days});
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().kind, ErrorKind::bad_input);
    EXPECT_FALSE(std::filesystem::exists("keys-never-made"));
  }
}

}  // namespace
}  // namespace hairpin::link

// The keys of a trial: `hairpin keys DIR`.
#pragma once

#include <filesystem>

#include "hairpin/base/result.h"

namespace hairpin::link {

struct KeyOptions {
  int days = 365;  // of validity, 1 to 3650
};

// Makes a certificate authority and writes DIRECTORY/edge and DIRECTORY/cloud (mode 0700), each
// with cert.pem, key.pem and ca.pem. `directory` must be new or empty. The authority's key is
// thrown away, so nobody can issue a third certificate.
Result<void> make_keys(const std::filesystem::path& directory, const KeyOptions& options = {});

}  // namespace hairpin::link

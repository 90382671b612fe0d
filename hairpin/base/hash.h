// SHA-256 where identity matters (files, contracts, logs); XXH3 where only damage in flight does.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "hairpin/base/bytes.h"
#include "hairpin/base/result.h"

namespace hairpin {

using Digest = std::array<std::byte, 32>;

// Incremental SHA-256. Movable, not thread-safe.
class Sha256 {
 public:
  Sha256();
  void update(ByteSpan bytes);
  Digest finish();  // once

 private:
  struct Free {
    void operator()(void* context) const;
  };
  std::unique_ptr<void, Free> context_;
};

Digest sha256(ByteSpan bytes);
Result<Digest> sha256_file(const std::filesystem::path& path);

std::string to_hex(ByteSpan bytes);  // lower case

std::uint64_t xxh3(ByteSpan bytes);
std::uint64_t xxh3(ByteSpan first, ByteSpan second);  // of both, one behind the other

}  // namespace hairpin

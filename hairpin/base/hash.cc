#include "hairpin/base/hash.h"

#include <openssl/evp.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "hairpin/base/check.h"
#include "hairpin/base/file.h"

namespace hairpin {

void Sha256::Free::operator()(void* context) const {
  EVP_MD_CTX_free(static_cast<EVP_MD_CTX*>(context));
}

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  const int done =
      EVP_DigestInit_ex(static_cast<EVP_MD_CTX*>(context_.get()), EVP_sha256(), nullptr);
  HAIRPIN_CHECK(done == 1, "OpenSSL offers no SHA-256");
}

void Sha256::update(ByteSpan bytes) {
  EVP_DigestUpdate(static_cast<EVP_MD_CTX*>(context_.get()), bytes.data(), bytes.size());
}

Digest Sha256::finish() {
  Digest digest;
  EVP_DigestFinal_ex(static_cast<EVP_MD_CTX*>(context_.get()),
                     reinterpret_cast<unsigned char*>(digest.data()), nullptr);
  return digest;
}

Digest sha256(ByteSpan bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

Result<Digest> sha256_file(const std::filesystem::path& path) {
  HAIRPIN_TRY(const auto file, MappedFile::open(path));
  return sha256(file.bytes());
}

std::string to_hex(ByteSpan bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const auto byte : bytes) {
    const auto value = std::to_integer<unsigned>(byte);
    text += digits[value >> 4];
    text += digits[value & 15];
  }
  return text;
}

std::uint64_t xxh3(ByteSpan bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

std::uint64_t xxh3(ByteSpan first, ByteSpan second) {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, first.data(), first.size());
  XXH3_64bits_update(&state, second.data(), second.size());
  return XXH3_64bits_digest(&state);
}

}  // namespace hairpin

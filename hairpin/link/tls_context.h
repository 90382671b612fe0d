// OpenSSL's context for one site: TLS 1.3 only, both sides authenticated, the peer's role checked.
#pragma once

#include <filesystem>
#include <memory>

#include "hairpin/base/result.h"
#include "hairpin/wire/message.h"

struct ssl_ctx_st;  // SSL_CTX

namespace hairpin::link {

struct FreeTlsContext {
  void operator()(ssl_ctx_st* context) const;
};
using TlsContext = std::unique_ptr<ssl_ctx_st, FreeTlsContext>;

// `keys` holds cert.pem, key.pem and ca.pem. Missing, unreadable and mismatched files are
// bad_input. A peer passes when its certificate comes from ca.pem, is valid today, and is for the
// other role; names and addresses are not looked at.
Result<TlsContext> make_tls_context(wire::Role own, const std::filesystem::path& keys);

}  // namespace hairpin::link

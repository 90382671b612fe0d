#include "hairpin/link/tls_context.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <string>

#include "hairpin/base/check.h"
#include "hairpin/base/file.h"
#include "hairpin/link/certificate.h"

namespace hairpin::link {
namespace {

bool has_role(X509* certificate, wire::Role role) {
  auto* names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  bool found = false;
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const auto* name = sk_GENERAL_NAME_value(names, i);
    if (name->type != GEN_URI) continue;
    const auto* uri = name->d.uniformResourceIdentifier;
    const std::string text(reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
                           static_cast<std::size_t>(ASN1_STRING_length(uri)));
    found = found || text == role_uri(role);
  }
  GENERAL_NAMES_free(names);
  return found;
}

template <wire::Role role>
int verify_peer(int valid, X509_STORE_CTX* store) {
  if (valid != 1 || X509_STORE_CTX_get_error_depth(store) > 0) return valid;
  if (has_role(X509_STORE_CTX_get_current_cert(store), role)) return 1;
  // The same error as for the wrong extended key usage; the peer hears "unsupported certificate".
  X509_STORE_CTX_set_error(store, X509_V_ERR_INVALID_PURPOSE);
  return 0;
}

// A key behind a passphrase would stop a run to ask for it: it counts as unreadable.
int no_passphrase(char*, int, int, void*) { return -1; }

std::string openssl_reason() {
  const auto code = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = ERR_reason_error_string(code);
  return reason == nullptr ? "unknown reason" : reason;
}

Result<std::string> readable(const std::filesystem::path& path) {
  if (const auto text = read_text_file(path, std::uint64_t{1} << 20); !text)
    return bad_input("{}; make keys with `hairpin keys` and name their folder in the job",
                     text.error().message);
  return path.string();
}

Result<void> load_identity(SSL_CTX* context, const std::filesystem::path& keys) {
  HAIRPIN_TRY(const auto authority, readable(keys / "ca.pem"));
  HAIRPIN_TRY(const auto certificate, readable(keys / "cert.pem"));
  HAIRPIN_TRY(const auto key, readable(keys / "key.pem"));
  if (SSL_CTX_load_verify_file(context, authority.c_str()) != 1)
    return bad_input("{}: not a PEM certificate ({}); make new keys with `hairpin keys`", authority,
                     openssl_reason());
  if (SSL_CTX_use_certificate_chain_file(context, certificate.c_str()) != 1)
    return bad_input("{}: not a PEM certificate ({}); make new keys with `hairpin keys`",
                     certificate, openssl_reason());
  const bool key_loaded = SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) == 1;
  if (!key_loaded || SSL_CTX_check_private_key(context) != 1)
    return bad_input(
        "{}: not the unencrypted PEM key of {} ({}); make new keys with `hairpin keys`", key,
        certificate, openssl_reason());
  return {};
}

}  // namespace

void FreeTlsContext::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

Result<TlsContext> make_tls_context(wire::Role own, const std::filesystem::path& keys) {
  const bool edge = own == wire::Role::edge;
  TlsContext context(SSL_CTX_new(edge ? TLS_client_method() : TLS_server_method()));
  HAIRPIN_CHECK(context != nullptr, "OpenSSL has no memory for a context");
  auto* c = context.get();
  SSL_CTX_set_min_proto_version(c, TLS1_3_VERSION);
  SSL_CTX_set_max_proto_version(c, TLS1_3_VERSION);
  SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(c, 0);
  SSL_CTX_set_default_passwd_cb(c, no_passphrase);
  SSL_CTX_set_verify(c, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                     edge ? verify_peer<wire::Role::cloud> : verify_peer<wire::Role::edge>);
  HAIRPIN_CHECK_OK(load_identity(c, keys));
  return context;
}

}  // namespace hairpin::link

#include "hairpin/link/tls_fault.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

namespace hairpin::link {
namespace {

using Text = std::optional<std::string>;

std::string other(wire::Role own) { return own == wire::Role::edge ? "cloud" : "edge"; }

// This side looked at the peer's certificate.
Text found_wrong(unsigned long code, long verify_result, wire::Role own) {
  const auto peer = other(own);
  if (ERR_GET_REASON(code) == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE)
    return fmt::format("the {0} showed no certificate; give it keys ({0}.keys)", peer);
  switch (verify_result) {
    case X509_V_OK: return std::nullopt;
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return fmt::format("the {}'s certificate has expired; make new keys with `hairpin keys`",
                         peer);
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return fmt::format(
          "the {}'s certificate is not valid yet; compare the two sites' clocks or make new keys "
          "with `hairpin keys`",
          peer);
    case X509_V_ERR_INVALID_PURPOSE:
      return fmt::format("the {0}'s certificate is not for the {0}'s role; look at {0}.keys", peer);
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return fmt::format(
          "the {0}'s certificate is of another authority than this {1}'s ca.pem; make both sites' "
          "keys with one `hairpin keys`",
          peer, wire::role_name(own));
    default:
      return fmt::format(
          "the {}'s certificate is not acceptable ({}); make new keys with `hairpin keys`", peer,
          X509_verify_cert_error_string(verify_result));
  }
}

// The peer looked at this side's certificate and sent an alert.
Text told_wrong(unsigned long code, wire::Role own) {
  const auto peer = other(own);
  const auto told = [&](std::string_view what, std::string_view advice) {
    return fmt::format("the {} refused this {}'s certificate: {}; {}", peer, wire::role_name(own),
                       what, advice);
  };
  const std::string_view remake = "make new keys with `hairpin keys`";
  switch (ERR_GET_REASON(code)) {
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return told("none was shown", "look at this site's keys");
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED: return told("it has expired", remake);
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
      return told("it is not valid, or not yet", "compare the two sites' clocks or make new keys");
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
      return told("it is not for this role", fmt::format("look at {}.keys", wire::role_name(own)));
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
      return told("it is of another authority", "make both sites' keys with one `hairpin keys`");
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
    case SSL_R_TLSV1_ALERT_DECRYPT_ERROR: return told("it is not acceptable", remake);
    default: return std::nullopt;
  }
}

}  // namespace

TlsFault tls_fault(unsigned long code, long verify_result, wire::Role own,
                   const std::string& peer_address) {
  auto text = found_wrong(code, verify_result, own);
  if (!text) text = told_wrong(code, own);
  if (text) return {true, {ErrorKind::peer, fmt::format("{}: {}", peer_address, *text)}};
  const char* reason = ERR_reason_error_string(code);
  return {false,
          {ErrorKind::peer,
           fmt::format("{} does not speak Hairpin's TLS 1.3 ({}); compare link.address and "
                       "link.insecure_loopback on both sites",
                       peer_address, reason == nullptr ? "unknown reason" : reason)}};
}

}  // namespace hairpin::link

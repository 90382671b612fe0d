// What went wrong in a TLS handshake, or was told by the peer's alert after it, as a sentence.
#pragma once

#include <optional>
#include <string>

#include "hairpin/base/result.h"
#include "hairpin/wire/message.h"

namespace hairpin::link {

struct TlsFault {
  // One side's certificate was found wrong by the other: both sites must end. Otherwise the peer
  // was not a Hairpin, or the connection broke.
  bool certificate = false;
  Error error;
};

// `code` is an OpenSSL error code, `verify_result` what SSL_get_verify_result says after it;
// `peer_address` says who it was ("127.0.0.1:7461"); `own` is this side's role.
TlsFault tls_fault(unsigned long code, long verify_result, wire::Role own,
                   const std::string& peer_address);

}  // namespace hairpin::link

// The first two messages each way: who speaks which version, and whether the jobs agree.
#pragma once

#include <string_view>

#include "hairpin/link/contract.h"
#include "hairpin/link/link.h"

namespace hairpin::link {

// Both sides call it right after the link stands, before anything else is sent or received. Sends
// this side's Hello and ContractOffer, then holds the peer's against them. Any difference, and
// anything else that comes first, fails the link and is the error (ErrorKind::peer) on both sides:
// each side names both versions, or every differing field with both values. `software` is shown to
// the peer's user.
Result<void> handshake(Link& link, wire::Role own, const Contract& contract,
                       std::string_view software = "hairpin");

}  // namespace hairpin::link

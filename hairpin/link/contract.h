// The part of the job both sites must agree on, and how a difference is told to people.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "hairpin/base/hash.h"
#include "hairpin/base/result.h"
#include "hairpin/wire/message.h"

namespace hairpin::link {

struct Contract {
  // In one fixed order; names are unique. Values cross the link: nothing about samples in them.
  std::vector<std::pair<std::string, std::string>> fields;

  // SHA-256 of the body of the contract's message (docs/protocol.md, message 2).
  Digest digest() const;
};

// Holds the peer's contract against this side's. Equal digests: fine. Otherwise one error
// (ErrorKind::peer) names every field that differs, or that only one side has, with both values.
Result<void> compare_contracts(const Contract& own, const Contract& peers, wire::Role own_role);

}  // namespace hairpin::link

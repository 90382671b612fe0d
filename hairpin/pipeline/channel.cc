#include "hairpin/pipeline/channel.h"

namespace hairpin::pipeline {

// A tensor that can't be put means that the mailbox has failed; who takes from it learns why.
Result<void> LocalChannel::send(const Tag& tag, Tensor tensor) {
  mailbox_.put(tag, std::move(tensor));
  return {};
}

}  // namespace hairpin::pipeline

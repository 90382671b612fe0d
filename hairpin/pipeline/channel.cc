#include "hairpin/pipeline/channel.h"

#include <ATen/core/Tensor.h>

namespace hairpin::pipeline {

// A tensor that can't be put means that the mailbox has failed; who takes from it learns why.
Result<void> LocalChannel::send(Tag tag, Tensor tensor) {
  tag.tp = tp_;
  bytes_sent_ += tensor.nbytes();
  mailbox_.put(tag, std::move(tensor));
  return {};
}

Result<Tensor> LocalChannel::receive(Tag tag) {
  tag.tp = tp_;
  return mailbox_.take(tag);
}

}  // namespace hairpin::pipeline

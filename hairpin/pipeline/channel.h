// How a rank reaches the rank across a stage boundary: inside its site, or over the link
// (link_channel.h). Sends never block; receives find what has arrived meanwhile.
#pragma once

#include <cstdint>

#include "hairpin/base/result.h"
#include "hairpin/pipeline/mailbox.h"
#include "hairpin/tensor/tensor.h"

namespace hairpin::pipeline {

// Belongs to one rank. Tensors are this rank's rows [R, hidden] of a microbatch's tokens.
class Channel {
 public:
  virtual ~Channel() = default;
  // Takes the tensor over: the sender doesn't write to it again.
  virtual Result<void> send(Tag tag, Tensor tensor) = 0;
  virtual Result<Tensor> receive(Tag tag) = 0;
};

// Between ranks that are threads of one process, with the same tensor parallelism: rank `tp` sends
// to rank `tp`. One mailbox is both ends.
class LocalChannel : public Channel {
 public:
  LocalChannel(Mailbox& mailbox, int tp) : mailbox_(mailbox), tp_(tp) {}
  Result<void> send(Tag tag, Tensor tensor) override;
  Result<Tensor> receive(Tag tag) override;
  std::uint64_t bytes_sent() const { return bytes_sent_; }  // so far

 private:
  Mailbox& mailbox_;
  int tp_;
  std::uint64_t bytes_sent_ = 0;
};

}  // namespace hairpin::pipeline

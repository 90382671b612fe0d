// How a rank reaches the rank across a stage boundary: inside its site, or over the link. Sends
// never block; receives find what has arrived meanwhile.
#pragma once

#include "hairpin/base/result.h"
#include "hairpin/pipeline/mailbox.h"
#include "hairpin/tensor/tensor.h"

namespace hairpin::pipeline {

class Channel {
 public:
  virtual ~Channel() = default;
  // Takes the tensor over: the sender doesn't write to it again.
  virtual Result<void> send(const Tag& tag, Tensor tensor) = 0;
  virtual Result<Tensor> receive(const Tag& tag) = 0;
};

// Between ranks that are threads of one process: one mailbox is both ends.
class LocalChannel : public Channel {
 public:
  explicit LocalChannel(Mailbox& mailbox) : mailbox_(mailbox) {}
  Result<void> send(const Tag& tag, Tensor tensor) override;
  Result<Tensor> receive(const Tag& tag) override { return mailbox_.take(tag); }

 private:
  Mailbox& mailbox_;
};

}  // namespace hairpin::pipeline

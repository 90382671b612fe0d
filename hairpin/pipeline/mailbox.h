// Where tensors for a rank's coming ops wait. Filled ahead of time by whoever produces them
// (another rank's thread, the link's receiver), emptied by the executor, keyed by what they are, so
// that the order of arrival never matters.
#pragma once

#include <compare>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "hairpin/base/result.h"
#include "hairpin/tensor/tensor.h"
#include "hairpin/wire/message.h"

namespace hairpin::pipeline {

// What crosses a stage boundary. Boundary b lies between logical stages b and b + 1.
struct Tag {
  wire::TensorKind kind = wire::TensorKind::activation;
  int boundary = 0;
  int domain = 0;
  std::int64_t step = 0;
  int microbatch = 0;
  int tp = 0;  // the tensor-parallel rank it is for
  auto operator<=>(const Tag&) const = default;
};
Tag tag_of(const wire::TensorMessage& message);
// "activation of step 3, microbatch 2, domain 0, boundary 0": steps and microbatches count from 1.
std::string tag_text(const Tag& tag);

// Thread-safe.
class Mailbox {
 public:
  // False when a tensor of that tag waits already, or after `fail`.
  bool put(const Tag& tag, Tensor tensor);
  // Waits for the tensor; after `fail`: its error, even if the tensor is there.
  Result<Tensor> take(const Tag& tag);
  // Ends all present and later waiting; the first error stays.
  void fail(Error error);
  std::size_t waiting() const;        // tensors not taken yet
  std::size_t waiting(int tp) const;  // of those, for this tensor-parallel rank

 private:
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::map<Tag, Tensor> tensors_;
  std::optional<Error> error_;
};

}  // namespace hairpin::pipeline

// The part that the twins share: a link whose members are those of its endpoint.
#pragma once

#include <memory>
#include <utility>

#include "hairpin/link/endpoint.h"
#include "hairpin/link/link.h"

namespace hairpin::link {

class EndpointLink : public Link {
 public:
  Result<void> send(wire::Message message) override { return held()->send(std::move(message)); }
  Result<wire::Message> receive() override { return held()->receive(); }
  void fail(Error reason) override { held()->fail(std::move(reason)); }
  Result<void> flush() override { return held()->flush(); }
  void set_max_frame_bytes(std::uint64_t bytes) override { held()->set_max_frame_bytes(bytes); }
  Traffic sent() const override { return held()->sent(); }
  Traffic received() const override { return held()->received(); }
  LinkEstimate estimate() const override { return held()->estimate(); }
  void watch(FrameObserver observer) override { held()->watch(std::move(observer)); }

 protected:
  explicit EndpointLink(std::shared_ptr<Endpoint> endpoint) : endpoint_(std::move(endpoint)) {}
  const std::shared_ptr<Endpoint> endpoint_;

 private:
  // A copy of its own for each call: one that waits outlives the link.
  std::shared_ptr<Endpoint> held() const { return endpoint_; }
};

}  // namespace hairpin::link

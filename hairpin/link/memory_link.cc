#include "hairpin/link/memory_link.h"
#include "hairpin/link/endpoint_link.h"

#include <atomic>
#include <utility>

#include "hairpin/link/memory_pipe.h"

namespace hairpin::link {
namespace {

// Both directions and what they share. Lives until both ends are destroyed.
class MemoryConnection {
 public:
  explicit MemoryConnection(MemoryLinkOptions options)
      : cut_after_(options.cut_after_messages),
        round_trip_(options.delay_up + options.delay_down),
        up_(pipe_options(options, options.delay_up, "up", options.edge_sent), edge_, cloud_),
        down_(pipe_options(options, options.delay_down, "down", options.cloud_sent), cloud_,
              edge_) {}

  const std::shared_ptr<Endpoint>& endpoint(wire::Role role) const {
    return role == wire::Role::edge ? edge_ : cloud_;
  }
  std::chrono::duration<double> round_trip() const { return round_trip_; }
  MemoryPipe& pipe_from(wire::Role role) { return role == wire::Role::edge ? up_ : down_; }

 private:
  PipeOptions pipe_options(const MemoryLinkOptions& options, std::chrono::microseconds delay,
                           std::string_view direction, SentObserver sent) {
    return {.delay = delay,
            .jitter = options.jitter,
            .reorder = options.reorder,
            .seed = derive_seed(options.seed, direction),
            .sent = std::move(sent),
            .may_pass = [this] { return may_pass(); }};
  }

  bool may_pass() {
    if (!cut_after_ || passed_++ < *cut_after_) return true;
    for (const auto& end : {edge_, cloud_})
      end->close({ErrorKind::link_lost,
                  fmt::format("the link to {} broke (cut on purpose)", end->peer_name())});
    return false;
  }

  const std::optional<std::uint64_t> cut_after_;
  const std::chrono::microseconds round_trip_;
  std::atomic<std::uint64_t> passed_{0};
  const std::shared_ptr<Endpoint> edge_ = std::make_shared<Endpoint>(wire::Role::edge);
  const std::shared_ptr<Endpoint> cloud_ = std::make_shared<Endpoint>(wire::Role::cloud);
  MemoryPipe up_, down_;
};

class MemoryLink : public EndpointLink {
 public:
  MemoryLink(std::shared_ptr<MemoryConnection> connection, wire::Role role)
      : EndpointLink(connection->endpoint(role)), connection_(std::move(connection)), role_(role) {}

  ~MemoryLink() override {
    endpoint_->drain();
    endpoint_->close({ErrorKind::link_lost, "the link was closed on this side"});
    connection_->pipe_from(role_).source_gone();
  }

  LinkEstimate estimate() const override {
    const double seconds = connection_->round_trip().count();
    return {.rtt_seconds = seconds, .min_rtt_seconds = seconds, .rtt_samples = 1};
  }

 private:
  std::shared_ptr<MemoryConnection> connection_;
  wire::Role role_;
};

}  // namespace

MemoryPair make_memory_pair(MemoryLinkOptions options) {
  const auto connection = std::make_shared<MemoryConnection>(std::move(options));
  return {std::make_unique<MemoryLink>(connection, wire::Role::edge),
          std::make_unique<MemoryLink>(connection, wire::Role::cloud)};
}

}  // namespace hairpin::link

#include "hairpin/link/virtual_link.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <utility>

#include "hairpin/base/random.h"
#include "hairpin/link/cutter.h"
#include "hairpin/link/endpoint_link.h"
#include "hairpin/wire/reassembler.h"

namespace hairpin::link {
namespace {

using std::chrono::nanoseconds;

class VirtualEnd : public EndpointLink {
 public:
  explicit VirtualEnd(std::shared_ptr<Endpoint> endpoint) : EndpointLink(std::move(endpoint)) {}
};

// One way: the sender hands fragments to the line one after the other, the line delivers each after
// its latency.
class VirtualLine {
 public:
  VirtualLine(VirtualDirection direction, std::uint64_t seed, Endpoint& source, Endpoint& target,
              SentObserver sent)
      : direction_(direction), random_(seed), target_(target), cutter_(source, std::move(sent)) {}

  // Takes the next fragment, if the line is free and there is one.
  void start(Moment now) {
    if (handing_) return;
    Bytes bytes;
    const auto cut = cutter_.next({}, bytes);
    if (!cut) return;
    nanoseconds time{0};
    if (direction_.bytes_per_second > 0)
      time = nanoseconds(static_cast<std::int64_t>(static_cast<double>(bytes.size()) * 1e9 /
                                                   direction_.bytes_per_second));
    handing_ = Handing{*cut, std::move(bytes), now + time};
  }

  std::optional<Moment> next() const {
    std::optional<Moment> moment;
    if (handing_) moment = handing_->until;
    if (!flights_.empty()) moment = std::min(moment.value_or(Moment::max()), flights_.front().due);
    return moment;
  }

  // What is due now.
  void happen(Moment now) {
    if (handing_ && handing_->until <= now) hand_over(now);
    while (!flights_.empty() && flights_.front().due <= now) {
      const auto bytes = std::move(flights_.front().bytes);
      flights_.pop_front();
      if (!deaf_) deaf_ = !deliver(bytes, now);
    }
  }

 private:
  struct Handing {
    Cutter::Cut cut;
    Bytes bytes;
    Moment until;
  };
  struct Flight {
    Moment due;
    Bytes bytes;
  };

  void hand_over(Moment now) {
    cutter_.done(handing_->cut);
    const auto jitter = static_cast<std::uint64_t>(direction_.jitter.count());
    const nanoseconds more(jitter > 0 ? static_cast<std::int64_t>(random_.below(jitter + 1)) : 0);
    last_due_ = std::max(last_due_, now + direction_.latency + more);
    flights_.push_back({last_due_, std::move(handing_->bytes)});
    handing_.reset();
  }

  // False: nothing more counts.
  bool deliver(ByteSpan fragment, Moment now) {
    auto arrived = reassembled(fragment, now);
    if (!arrived) {
      target_.refuse(arrived.error());
      return false;
    }
    target_.set_arriving(reassembler_.open_frames() > 0);
    for (auto& message : *arrived)
      if (!target_.deliver(std::move(message))) return false;
    return true;
  }

  Result<std::vector<wire::Arrived>> reassembled(ByteSpan fragment, Moment now) {
    HAIRPIN_TRY(const auto header,
                wire::decode_fragment_header(fragment.first(wire::kFragmentHeaderBytes),
                                             target_.max_frame_bytes()));
    HAIRPIN_TRY(const auto place, reassembler_.place(0, header, now));
    target_.set_arriving(true);
    std::ranges::copy(fragment.subspan(wire::kFragmentHeaderBytes), place.begin());
    reassembler_.came(0, place.size(), now);
    return reassembler_.filled(0, now);
  }

  const VirtualDirection direction_;
  Random random_;
  Endpoint& target_;
  Cutter cutter_;
  wire::Reassembler reassembler_;
  std::optional<Handing> handing_;
  std::deque<Flight> flights_;  // by due time
  Moment last_due_{};
  bool deaf_ = false;
};

}  // namespace

struct VirtualLink::Impl {
  explicit Impl(VirtualLinkOptions options)
      : beat(options.heartbeat_interval),
        lines{VirtualLine(options.up, derive_seed(options.seed, "up"), *edge, *cloud,
                          options.edge_sent),
              VirtualLine(options.down, derive_seed(options.seed, "down"), *cloud, *edge,
                          options.cloud_sent)} {}

  Moment moment() const { return Moment(nanoseconds(clock)); }

  std::optional<Moment> next() {
    std::optional<Moment> first;
    for (auto& line : lines) {
      line.start(moment());
      if (const auto next = line.next()) first = std::min(first.value_or(*next), *next);
    }
    if (beat.count() > 0) first = std::min(first.value_or(next_beat), next_beat);
    return first;
  }

  void happen(Moment at) {
    clock = at.time_since_epoch().count();
    if (beat.count() > 0 && next_beat <= at) {
      edge->queue_heartbeat();
      cloud->queue_heartbeat();
      next_beat += beat;
    }
    for (auto& line : lines) line.happen(at);
  }

  std::atomic<std::int64_t> clock{0};  // nanoseconds
  const nanoseconds beat;
  Moment next_beat{};
  const std::shared_ptr<Endpoint> edge =
      std::make_shared<Endpoint>(wire::Role::edge, [this] { return moment(); });
  const std::shared_ptr<Endpoint> cloud =
      std::make_shared<Endpoint>(wire::Role::cloud, [this] { return moment(); });
  std::array<VirtualLine, 2> lines;
  VirtualEnd edge_end{edge}, cloud_end{cloud};
};

VirtualLink::VirtualLink(VirtualLinkOptions options)
    : impl_(std::make_unique<Impl>(std::move(options))) {}

VirtualLink::~VirtualLink() {
  for (const auto& end : {impl_->edge, impl_->cloud})
    end->close({ErrorKind::link_lost, "the link was closed"});
}

Link& VirtualLink::edge() { return impl_->edge_end; }
Link& VirtualLink::cloud() { return impl_->cloud_end; }
Moment VirtualLink::now() const { return impl_->moment(); }

void VirtualLink::advance(nanoseconds time) {
  const auto end = now() + time;
  for (auto next = impl_->next(); next && *next <= end; next = impl_->next()) impl_->happen(*next);
  impl_->clock = end.time_since_epoch().count();
}

bool VirtualLink::advance_to_next() {
  const auto next = impl_->next();
  if (next) impl_->happen(*next);
  return next.has_value();
}

}  // namespace hairpin::link

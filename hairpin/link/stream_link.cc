#include "hairpin/link/stream_link.h"

#include <algorithm>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/post.hpp>
#include <asio/redirect_error.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <optional>
#include <thread>

#include "hairpin/link/cutter.h"
#include "hairpin/link/endpoint_link.h"
#include "hairpin/link/tcp_state.h"
#include "hairpin/link/unanswered.h"
#include "hairpin/link/window.h"
#include "hairpin/wire/reassembler.h"

namespace hairpin::link {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// How long an end waits for the peer to hear its last word, and to learn why a write failed.
constexpr milliseconds kLinger{1000};

// How long a writer waits until it looks again whether more bulk may be under way: the time of a
// fragment at 260 Mbit/s.
constexpr milliseconds kRoomPause{2};

// How many round trips are measured at four times the usual pace.
constexpr std::uint64_t kQuickSamples = 4;

// A reader and a writer for each of the link's connections, and a watch that sends heartbeats and
// ends what does not end by itself: coroutines on one thread. All members but the endpoint belong
// to that thread. Control goes over the first connection, bulk over the others (all over the one
// where there is but one), so that no control frame waits in the kernel behind bulk.
class Connection {
 public:
  Connection(std::shared_ptr<asio::io_context> io, std::vector<std::unique_ptr<ByteStream>> streams,
             StreamLinkOptions options)
      : io_(std::move(io)),
        options_(std::move(options)),
        endpoint_(std::make_shared<Endpoint>(options_.own)),
        cutter_(*endpoint_, options_.sent),
        tick_(*io_) {
    for (auto& stream : streams)
      stripes_.push_back(
          std::make_unique<Stripe>(static_cast<int>(stripes_.size()), std::move(stream), *io_));
    endpoint_->set_wakeup([this] { asio::post(*io_, [this] { wake_writers(); }); });
    for (const auto& stripe : stripes_) {
      asio::co_spawn(*io_, read(*stripe), asio::detached);
      asio::co_spawn(*io_, write(*stripe), asio::detached);
    }
    asio::co_spawn(*io_, watch(), asio::detached);
    thread_ = std::jthread([this] { run(); });
  }

  ~Connection() {
    endpoint_->drain();
    endpoint_->close({ErrorKind::link_lost, "the link was closed on this side"});
    asio::post(*io_, [this] { leave(); });
    thread_.join();
    endpoint_->set_wakeup(nullptr);
  }

  const std::shared_ptr<Endpoint>& endpoint() const { return endpoint_; }

 private:
  struct Stripe {
    Stripe(int place, std::unique_ptr<ByteStream> bytes, asio::io_context& io)
        : number(place), stream(std::move(bytes)), wake(io) {}
    const int number;
    const std::unique_ptr<ByteStream> stream;
    asio::steady_timer wake;    // of the writer
    Bytes out;                  // the fragment that is written
    std::uint32_t packets = 0;  // delivered, when last looked at
    Unanswered unanswered;
    bool writing = false;
    bool ended = false;  // nothing more can be read
  };

  void run();
  asio::awaitable<void> read(Stripe& stripe);
  asio::awaitable<bool> read_fragment(Stripe& stripe);
  asio::awaitable<bool> read_header(Stripe& stripe, std::span<std::byte> bytes);
  asio::awaitable<bool> read_body(Stripe& stripe, const wire::FragmentHeader& header);
  asio::awaitable<void> wait_for_turn(const wire::FragmentHeader& header);
  asio::awaitable<void> discard_until_end(Stripe& stripe);
  bool deliver(Result<std::vector<wire::Arrived>> arrived);
  void refuse(Error reason);
  void ended(Stripe& stripe, const asio::error_code& error);
  Cutter::Lanes lanes_of(const Stripe& stripe) const;
  bool bulk_fits();
  asio::awaitable<void> write(Stripe& stripe);
  asio::awaitable<void> write_one(Stripe& stripe, const Cutter::Cut& cut);
  void wake_writers();
  asio::awaitable<void> watch();
  void check_clocks();
  void beat(Clock::time_point now);
  void leave();
  void finish();
  void close_within(milliseconds limit);
  void close_sockets();

  const std::shared_ptr<asio::io_context> io_;
  const StreamLinkOptions options_;
  const std::shared_ptr<Endpoint> endpoint_;
  std::vector<std::unique_ptr<Stripe>> stripes_;
  Cutter cutter_;
  Window window_;
  std::uint64_t delivered_ = 0;  // bytes of bulk
  wire::Reassembler reassembler_;
  asio::steady_timer tick_;

  bool deaf_ = false;       // nothing counts any more that the peer may say
  bool leaving_ = false;    // the link is being destroyed
  bool finishing_ = false;  // close_write has begun
  bool closed_ = false;
  Clock::time_point last_byte_ = Clock::now(), last_tick_ = Clock::now();
  std::optional<Clock::time_point> last_beat_, close_at_;
  std::optional<Error> write_error_;
  std::optional<Error> first_end_;  // of the first connection that ended
  std::jthread thread_;
};

void Connection::run() {
  try {
    io_->run();
  } catch (const std::exception& error) {
    // Memory for a frame, at worst; the endpoint must not leave anybody waiting.
    close_sockets();
    endpoint_->close({ErrorKind::internal, error.what()});
  }
}

// g++ 12 miscompiles a co_await inside a condition or with a temporary that has a destructor: in
// this file it stands alone or initialises a variable, and messages are named before.
asio::awaitable<void> Connection::read(Stripe& stripe) {
  bool more = true;
  while (more) more = co_await read_fragment(stripe);
  if (!stripe.ended) co_await discard_until_end(stripe);
}

// False at the end of the connection, or after a frame nothing may follow.
asio::awaitable<bool> Connection::read_fragment(Stripe& stripe) {
  std::array<std::byte, wire::kFragmentHeaderBytes> head;
  const bool have_head = co_await read_header(stripe, head);
  if (!have_head || deaf_) co_return false;
  const auto header = wire::decode_fragment_header(head, endpoint_->max_frame_bytes());
  if (!header) {
    refuse(header.error());
    co_return false;
  }
  co_await wait_for_turn(*header);
  if (deaf_) co_return false;
  const bool more = co_await read_body(stripe, *header);
  co_return more;
}

asio::awaitable<bool> Connection::read_header(Stripe& stripe, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    asio::error_code error;
    const auto size =
        co_await stripe.stream->read_some(asio::buffer(bytes.data(), bytes.size()), error);
    if (error) {
      ended(stripe, error);
      co_return false;
    }
    last_byte_ = Clock::now();
    bytes = bytes.subspan(size);
  }
  co_return true;
}

// While the program is behind with receiving, TCP makes the peer wait; so it does while a frame
// would take more memory than there is for frames that are not whole.
asio::awaitable<void> Connection::wait_for_turn(const wire::FragmentHeader& header) {
  asio::steady_timer pause(*io_);
  while (!closed_ && !deaf_) {
    const bool crowded = endpoint_->crowded(header.lane);
    if (!crowded && reassembler_.admits(header, endpoint_->max_frame_bytes())) break;
    asio::error_code ignored;
    pause.expires_after(milliseconds(5));
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    if (crowded) last_byte_ = Clock::now();  // the silence is ours
  }
}

asio::awaitable<bool> Connection::read_body(Stripe& stripe, const wire::FragmentHeader& header) {
  const auto place = reassembler_.place(stripe.number, header, Clock::now());
  if (!place) {
    refuse(place.error());
    co_return false;
  }
  endpoint_->set_arriving(true);
  auto rest = *place;
  while (!rest.empty()) {
    asio::error_code error;
    const auto size =
        co_await stripe.stream->read_some(asio::buffer(rest.data(), rest.size()), error);
    if (error) {
      ended(stripe, error);
      co_return false;
    }
    last_byte_ = Clock::now();
    reassembler_.came(stripe.number, size, last_byte_);
    rest = rest.subspan(size);
  }
  if (deaf_) co_return false;
  const bool more = deliver(reassembler_.filled(stripe.number, Clock::now()));
  endpoint_->set_arriving(reassembler_.open_frames() > 0);
  co_return more;
}

bool Connection::deliver(Result<std::vector<wire::Arrived>> arrived) {
  if (!arrived) {
    refuse(arrived.error());
    return false;
  }
  for (auto& message : *arrived) {
    deaf_ = !endpoint_->deliver(std::move(message));
    if (deaf_) return false;
  }
  return true;
}

void Connection::refuse(Error reason) {
  endpoint_->refuse(std::move(reason));
  deaf_ = true;
}

// So that the peer's writes do not fail, and reset the connection, before it has read our last
// word.
asio::awaitable<void> Connection::discard_until_end(Stripe& stripe) {
  if (endpoint_->ended()) close_within(kLinger);
  std::array<std::byte, 16384> scrap;
  asio::error_code error;
  while (!error) {
    co_await stripe.stream->read_some(asio::buffer(scrap), error);
  }
  ended(stripe, error);
}

// What the peer said last may still be under way on another connection: the link ends with the last
// one that ends, or, where one broke, a second later.
void Connection::ended(Stripe& stripe, const asio::error_code& error) {
  stripe.ended = true;
  // A failed write is the better reason where this side closed the socket because of it.
  const bool own_close = closed_ && write_error_.has_value();
  if (!first_end_)
    first_end_ = own_close ? *write_error_ : stripe.stream->explain(error, options_.own);
  const bool all = std::ranges::all_of(stripes_, [](const auto& other) { return other->ended; });
  if (all || closed_) {
    endpoint_->close(*first_end_);
    close_sockets();
  } else if (error != asio::error::eof) {
    close_within(kLinger);
  }
}

Cutter::Lanes Connection::lanes_of(const Stripe& stripe) const {
  if (stripes_.size() == 1) return {.control = true, .bulk = true};
  return {.control = stripe.number == 0, .bulk = stripe.number != 0};
}

asio::awaitable<void> Connection::write(Stripe& stripe) {
  while (!closed_ && !cutter_.finished() && !write_error_) {
    auto lanes = lanes_of(stripe);
    const bool wait_for_room = lanes.bulk && !bulk_fits();
    if (wait_for_room) lanes.bulk = false;
    const auto cut = cutter_.next(lanes, stripe.out);
    if (lanes.bulk && !cut) window_.idle();
    if (cut) {
      co_await write_one(stripe, *cut);
    } else if (leaving_) {
      break;
    } else {
      asio::error_code ignored;
      if (wait_for_room) {
        stripe.wake.expires_after(kRoomPause);
      } else {
        stripe.wake.expires_at(Clock::time_point::max());
      }
      co_await stripe.wake.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
  }
}

// Whether another fragment may go, as the path is (window.h).
bool Connection::bulk_fits() {
  Window::Seen seen{.now = Clock::now()};
  std::uint64_t under_way = 0;
  for (const auto& stripe : stripes_) {
    if (!lanes_of(*stripe).bulk) continue;
    const auto state = tcp_state(stripe->stream->socket().native_handle());
    if (!state) return true;  // writing will tell
    under_way += state->under_way_bytes;
    const auto packets =
        state->delivered_packets - std::exchange(stripe->packets, state->delivered_packets);
    delivered_ += std::uint64_t{packets} * state->packet_bytes;
    const bool first = seen.min_rtt.count() == 0;
    seen.min_rtt = first ? state->min_rtt : std::min(seen.min_rtt, state->min_rtt);
    seen.rtt = first ? state->rtt : std::min(seen.rtt, state->rtt);
  }
  seen.delivered_bytes = delivered_;
  window_.see(seen);
  const auto limit = window_.limit();
  return !limit || under_way < *limit;
}

asio::awaitable<void> Connection::write_one(Stripe& stripe, const Cutter::Cut& cut) {
  asio::error_code error;
  stripe.writing = true;
  co_await stripe.stream->write(asio::buffer(stripe.out.data(), stripe.out.size()), error);
  stripe.writing = false;
  if (error) {
    // The reader may still find the peer's last word; it ends the link.
    if (!write_error_) write_error_ = stripe.stream->explain(error, options_.own);
    close_within(kLinger);
    co_return;
  }
  cutter_.done(cut);
  if (cutter_.refused()) finish();
  // A goodbye waits for control.
  if (stripe.number == 0 && stripes_.size() > 1) wake_writers();
}

void Connection::wake_writers() {
  for (const auto& stripe : stripes_) stripe->wake.cancel();
}

asio::awaitable<void> Connection::watch() {
  const auto period = std::clamp(std::min(options_.heartbeat_interval, options_.peer_timeout) / 4,
                                 milliseconds(5), milliseconds(250));
  while (!closed_) {
    asio::error_code ignored;
    tick_.expires_after(period);
    co_await tick_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    check_clocks();
  }
}

void Connection::check_clocks() {
  const auto now = Clock::now();
  // A process that was itself stopped must not hold the silence against the peer.
  if (now - std::exchange(last_tick_, now) > options_.peer_timeout / 2) last_byte_ = now;
  if (close_at_ && now >= *close_at_) return close_sockets();
  if (endpoint_->ended()) return close_within(kLinger);
  if (!deaf_ && now - last_byte_ > options_.peer_timeout)
    endpoint_->refuse(
        {ErrorKind::link_lost,
         fmt::format("not a byte from {} for {:g} s; it hangs or the network is down",
                     endpoint_->peer_name(), options_.peer_timeout.count() / 1000.0)});
  for (const auto& stripe : stripes_) {
    const auto state = tcp_state(stripe->stream->socket().native_handle());
    if (!deaf_ && state && stripe->unanswered.see(now, *state) > options_.peer_timeout)
      return endpoint_->refuse(
          {ErrorKind::link_lost,
           fmt::format("{} has acknowledged nothing on connection {} of {} for {:g} s",
                       endpoint_->peer_name(), stripe->number + 1, stripes_.size(),
                       options_.peer_timeout.count() / 1000.0)});
  }
  beat(now);
}

void Connection::beat(Clock::time_point now) {
  const bool quick = endpoint_->estimate().rtt_samples < kQuickSamples;
  const auto pause = quick ? options_.heartbeat_interval / 4 : options_.heartbeat_interval;
  if (last_beat_ && now - *last_beat_ < pause) return;
  last_beat_ = now;
  endpoint_->queue_heartbeat();
}

// The link is being destroyed. Without a last word that is sudden, as if the process had died.
void Connection::leave() {
  leaving_ = true;
  wake_writers();
  if (cutter_.finished() || cutter_.refused()) {
    finish();
  } else {
    close_sockets();
  }
}

void Connection::finish() {
  if (closed_ || std::exchange(finishing_, true)) return;
  for (const auto& stripe : stripes_)
    if (!stripe->writing) asio::co_spawn(*io_, stripe->stream->close_write(), asio::detached);
  close_within(kLinger);
}

void Connection::close_within(milliseconds limit) {
  const auto at = Clock::now() + limit;
  close_at_ = close_at_ ? std::min(*close_at_, at) : at;
}

void Connection::close_sockets() {
  closed_ = true;
  asio::error_code ignored;
  for (const auto& stripe : stripes_) stripe->stream->socket().close(ignored);
  wake_writers();
  tick_.cancel();
}

class StreamLink : public EndpointLink {
 public:
  explicit StreamLink(std::unique_ptr<Connection> connection)
      : EndpointLink(connection->endpoint()), connection_(std::move(connection)) {}

 private:
  std::unique_ptr<Connection> connection_;
};

}  // namespace

std::unique_ptr<Link> make_stream_link(std::shared_ptr<asio::io_context> io,
                                       std::vector<std::unique_ptr<ByteStream>> streams,
                                       StreamLinkOptions options) {
  return std::make_unique<StreamLink>(
      std::make_unique<Connection>(std::move(io), std::move(streams), std::move(options)));
}

}  // namespace hairpin::link

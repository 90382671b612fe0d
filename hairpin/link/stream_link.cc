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

#include "hairpin/link/endpoint_link.h"
#include "hairpin/link/outgoing.h"
#include "hairpin/wire/frame.h"

namespace hairpin::link {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// How long an end waits for the peer to hear its last word, and to learn why a write failed.
constexpr milliseconds kLinger{1000};

// Three coroutines on one thread: a reader, a writer, and a watch that sends heartbeats and ends
// what does not end by itself. All members but the endpoint belong to that thread.
class Connection {
 public:
  Connection(std::shared_ptr<asio::io_context> io, std::unique_ptr<ByteStream> stream,
             StreamLinkOptions options)
      : io_(std::move(io)),
        stream_(std::move(stream)),
        options_(std::move(options)),
        endpoint_(std::make_shared<Endpoint>(options_.own)),
        wake_writer_(*io_),
        tick_(*io_) {
    endpoint_->set_wakeup([this] { asio::post(*io_, [this] { wake_writer_.cancel(); }); });
    asio::co_spawn(*io_, read(), asio::detached);
    asio::co_spawn(*io_, write(), asio::detached);
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
  void run();
  asio::awaitable<void> read();
  asio::awaitable<void> wait_for_room();
  asio::awaitable<bool> read_frame();
  asio::awaitable<bool> read_exactly(std::span<std::byte> bytes);
  asio::awaitable<void> discard_until_end();
  asio::awaitable<void> write();
  std::optional<wire::Message> next_message();
  asio::awaitable<void> write_one(const wire::Message& message);
  asio::awaitable<void> watch();
  void check_clocks();
  void leave();
  void finish();
  void close_within(milliseconds limit);
  void close_socket();

  const std::shared_ptr<asio::io_context> io_;
  const std::unique_ptr<ByteStream> stream_;
  const StreamLinkOptions options_;
  const std::shared_ptr<Endpoint> endpoint_;
  asio::steady_timer wake_writer_, tick_;

  std::vector<std::byte> body_;
  std::uint64_t next_received_ = 0, next_sent_ = 0;
  std::uint64_t heartbeats_ = 0;
  bool heartbeat_due_ = false;
  bool peer_done_ = false;  // the peer said its last word
  bool own_done_ = false;   // so did this side
  bool leaving_ = false;    // the link is being destroyed
  bool finishing_ = false;  // close_write has begun
  bool closed_ = false;
  Clock::time_point last_sent_ = Clock::now(), last_byte_ = Clock::now(), last_tick_ = Clock::now();
  std::optional<Clock::time_point> close_at_;
  std::optional<Error> write_error_;
  std::jthread thread_;
};

void Connection::run() {
  try {
    io_->run();
  } catch (const std::exception& error) {
    // Memory for a frame, at worst; the endpoint must not leave anybody waiting.
    close_socket();
    endpoint_->close({ErrorKind::internal, error.what()});
  }
}

asio::awaitable<void> Connection::read() {
  bool more = true;
  while (more) {
    co_await wait_for_room();
    more = co_await read_frame();
  }
  if (!closed_) co_await discard_until_end();
  close_socket();
  wake_writer_.cancel();
  tick_.cancel();
}

// While the program is behind with receiving, TCP makes the peer wait.
asio::awaitable<void> Connection::wait_for_room() {
  asio::steady_timer pause(*io_);
  while (endpoint_->crowded() && !closed_) {
    asio::error_code ignored;
    pause.expires_after(milliseconds(5));
    co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    last_byte_ = Clock::now();  // the silence is ours
  }
}

// False at the end of the connection, or after a frame nothing may follow.
asio::awaitable<bool> Connection::read_frame() {
  std::array<std::byte, wire::kHeaderBytes> head;
  const bool have_head = co_await read_exactly(head);
  if (!have_head) co_return false;
  const auto header = wire::decode_header(head, endpoint_->max_frame_bytes());
  if (!header) {
    endpoint_->refuse(header.error());
    co_return false;
  }
  if (header->sequence != next_received_++) {
    endpoint_->refuse({ErrorKind::peer,
                       fmt::format("{} sent frame {} where frame {} was due; install the same "
                                   "release of Hairpin on both sites",
                                   endpoint_->peer_name(), header->sequence, next_received_ - 1)});
    co_return false;
  }
  if (body_.size() < header->body_bytes) body_.resize(header->body_bytes);
  const auto body = std::span(body_).first(header->body_bytes);
  const bool have_body = co_await read_exactly(body);
  if (!have_body) co_return false;
  auto message = wire::decode_body(*header, body);
  if (!message) {
    endpoint_->refuse(message.error());
    co_return false;
  }
  peer_done_ = !endpoint_->deliver(std::move(*message), wire::kHeaderBytes + body.size());
  co_return !peer_done_;
}

asio::awaitable<bool> Connection::read_exactly(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    asio::error_code error;
    const auto size = co_await stream_->read_some(asio::buffer(bytes.data(), bytes.size()), error);
    if (error) {
      // A failed write is the better reason where this side closed the socket because of it.
      const bool own_close = closed_ && write_error_.has_value();
      endpoint_->close(own_close ? *write_error_ : stream_->explain(error, options_.own));
      close_socket();
      co_return false;
    }
    last_byte_ = Clock::now();
    bytes = bytes.subspan(size);
  }
  co_return true;
}

// So that the peer's writes do not fail, and reset the connection, before it has read our last
// word.
asio::awaitable<void> Connection::discard_until_end() {
  peer_done_ = true;
  if (endpoint_->ended()) close_within(kLinger);
  std::array<std::byte, 16384> scrap;
  asio::error_code error;
  while (!error) {
    co_await stream_->read_some(asio::buffer(scrap), error);
  }
  endpoint_->close(stream_->explain(error, options_.own));
}

// g++ 12 miscompiles a co_await inside a condition or with a temporary that has a destructor: in
// this file it stands alone or initialises a variable, and messages are named before.
asio::awaitable<void> Connection::write() {
  while (!closed_ && !own_done_ && !write_error_) {
    const auto message = next_message();
    if (message) {
      co_await write_one(*message);
    } else if (leaving_) {
      break;
    } else {
      asio::error_code ignored;
      wake_writer_.expires_at(Clock::time_point::max());
      co_await wake_writer_.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
    }
  }
}

std::optional<wire::Message> Connection::next_message() {
  auto message = endpoint_->next_to_send();
  if (!message && std::exchange(heartbeat_due_, false)) message = wire::Heartbeat{heartbeats_++};
  return message;
}

asio::awaitable<void> Connection::write_one(const wire::Message& message) {
  const auto frame = frame_to_send(*endpoint_, message, next_sent_, options_.sent);
  if (!frame) co_return;
  ++next_sent_;
  asio::error_code error;
  co_await stream_->write(asio::buffer(frame->data(), frame->size()), error);
  if (error) {
    // The reader may still find the peer's last word; it ends the link.
    write_error_ = stream_->explain(error, options_.own);
    close_within(kLinger);
    co_return;
  }
  last_sent_ = Clock::now();
  heartbeat_due_ = false;
  own_done_ = is_last_word(message);
  endpoint_->written(frame->size());
  if (std::holds_alternative<wire::Refusal>(message)) finish();
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
  if (close_at_ && now >= *close_at_) return close_socket();
  if (endpoint_->ended()) return close_within(kLinger);
  if (!peer_done_ && now - last_byte_ > options_.peer_timeout)
    endpoint_->refuse(
        {ErrorKind::link_lost,
         fmt::format("not a byte from {} for {:g} s; it hangs or the network is down",
                     endpoint_->peer_name(), options_.peer_timeout.count() / 1000.0)});
  if (!own_done_ && now - last_sent_ >= options_.heartbeat_interval) {
    heartbeat_due_ = true;
    wake_writer_.cancel();
  }
}

// The link is being destroyed. Without a last word that is sudden, as if the process had died.
void Connection::leave() {
  leaving_ = true;
  wake_writer_.cancel();
  if (own_done_) {
    finish();
  } else {
    close_socket();
  }
}

void Connection::finish() {
  if (closed_ || std::exchange(finishing_, true)) return;
  asio::co_spawn(*io_, stream_->close_write(), asio::detached);
  close_within(kLinger);
}

void Connection::close_within(milliseconds limit) {
  const auto at = Clock::now() + limit;
  close_at_ = close_at_ ? std::min(*close_at_, at) : at;
}

void Connection::close_socket() {
  closed_ = true;
  asio::error_code ignored;
  stream_->socket().close(ignored);
  wake_writer_.cancel();
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
                                       std::unique_ptr<ByteStream> stream,
                                       StreamLinkOptions options) {
  return std::make_unique<StreamLink>(
      std::make_unique<Connection>(std::move(io), std::move(stream), std::move(options)));
}

}  // namespace hairpin::link

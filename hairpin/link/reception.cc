#include "hairpin/link/reception.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/redirect_error.hpp>
#include <asio/use_awaitable.hpp>

#include "hairpin/base/check.h"
#include "hairpin/base/log.h"

namespace hairpin::link {

using Tcp = asio::ip::tcp;
using std::chrono::milliseconds;
using wire::Role;

namespace {

// More are not heard at once: the oldest one leaves for a new one.
constexpr std::size_t kMaxGuests = 64;
constexpr milliseconds kLinger{1000};

Error not_its_own(const std::string& address) {
  return {ErrorKind::peer, fmt::format("{} wanted to join a link that is not its own", address)};
}

void close(ByteStream& stream) {
  asio::error_code ignored;
  stream.socket().close(ignored);
}

}  // namespace

struct Reception::Guest {
  Guest(std::unique_ptr<ByteStream> bytes, asio::io_context& io)
      : address(peer_address(bytes->socket())), stream(std::move(bytes)), limit(io) {}

  const std::string address;
  std::unique_ptr<ByteStream> stream;  // null once seated
  asio::steady_timer limit;
  bool late = false;
};

void Reception::limit_to(const GuestPtr& guest, milliseconds time) {
  guest->limit.expires_after(time);
  guest->limit.async_wait([weak = std::weak_ptr(guest)](const asio::error_code& cancelled) {
    const auto late = weak.lock();
    if (cancelled || !late || !late->stream) return;
    late->late = true;
    close(*late->stream);
  });
}

Reception::Reception(asio::io_context& io, Tcp::acceptor& acceptor, const TlsLinkOptions& options)
    : io_(io), acceptor_(acceptor), options_(options), session_limit_(io) {}

Result<Reception::Streams> Reception::run(milliseconds limit) {
  asio::co_spawn(io_, accept_all(), asio::detached);
  io_.restart();
  io_.run_for(limit);
  if (!outcome_) {
    end(fail(ErrorKind::link_lost, "no edge connected to {}:{} within {:g} s", options_.host,
             options_.port, static_cast<double>(limit.count()) / 1000.0));
  }
  io_.restart();
  io_.run();
  io_.restart();
  if (!*outcome_) return tl::unexpected<Error>(outcome_->error());
  return std::move(session_->streams);
}

void Reception::end(Result<void> outcome) {
  if (outcome_) return;
  outcome_ = std::move(outcome);
  asio::error_code ignored;
  acceptor_.close(ignored);
  session_limit_.cancel();
  for (const auto& guest : guests_)
    if (guest->stream) close(*guest->stream);
}

// In this file, too, a co_await stands alone or initialises a variable (see stream_link.cc).
asio::awaitable<void> Reception::accept_all() {
  while (!outcome_) {
    Tcp::socket socket(io_);
    asio::error_code error;
    co_await acceptor_.async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
    if (error) {
      end(fail(ErrorKind::link_lost, "waiting for the edge ended ({})", error.message()));
    } else {
      admit(std::move(socket));
    }
  }
}

void Reception::admit(Tcp::socket socket) {
  auto stream = make_stream(std::move(socket), Role::cloud, options_);
  if (!stream) return end(tl::unexpected<Error>(stream.error()));
  if (guests_.size() >= kMaxGuests) {
    log::warning("{} connections wait to be heard; the oldest has to leave", guests_.size());
    close(*guests_.front()->stream);
    guests_.pop_front();
  }
  guests_.push_back(std::make_shared<Guest>(std::move(*stream), io_));
  asio::co_spawn(io_, meet(guests_.back()), asio::detached);
}

asio::awaitable<void> Reception::meet(GuestPtr guest) {
  limit_to(guest, options_.handshake_timeout);
  auto fault = co_await hear(*guest);
  if (fault && guest->late)
    fault =
        ConnectFault{false,
                     {ErrorKind::link_lost,
                      fmt::format("{} did not finish its handshake within {:g} s", guest->address,
                                  options_.handshake_timeout.count() / 1000.0)}};
  if (fault && fault->fatal) {
    guests_.remove(guest);  // it shall hear why
    end(tl::unexpected<Error>(fault->error));
  } else if (fault && !outcome_) {
    log::warning("{}; still waiting for the edge", fault->error.message);
  }
  if (guest->stream) {
    limit_to(guest, kLinger);
    co_await close_gently(*guest->stream);
  }
  guest->limit.cancel();
  guests_.remove(guest);
}

asio::awaitable<std::optional<ConnectFault>> Reception::hear(Guest& guest) {
  auto fault = co_await authenticate(*guest.stream, Role::cloud);
  if (fault) co_return fault;
  auto heard = co_await receive_opening(*guest.stream, Role::cloud);
  if (heard.fault && heard.fault->fatal) {
    // An answer names this side's version and tells a TLS client that there is none here.
    const wire::Opening own{.connections = static_cast<std::uint8_t>(options_.connections)};
    const auto unsent = co_await send_opening(*guest.stream, Role::cloud, own);
    if (unsent) log::debug("{}", unsent->error.message);
  }
  if (heard.fault) co_return heard.fault;
  auto answered = co_await answer(guest, heard.opening);
  co_return answered;
}

asio::awaitable<std::optional<ConnectFault>> Reception::answer(Guest& guest,
                                                               wire::Opening opening) {
  const bool agreed = opening.connections == options_.connections;
  wire::Opening reply{.connections = static_cast<std::uint8_t>(options_.connections)};
  if (agreed && opening.connection == 0) begin_session(guest);
  const bool welcome = agreed && belongs(guest, opening);
  if (welcome) reply = {opening.connection, opening.connections, session_->id};
  std::optional<ConnectFault> fault;
  if (welcome || !agreed) fault = co_await send_opening(*guest.stream, Role::cloud, reply);
  if (!agreed) {
    fault = ConnectFault{true, connections_differ(opening.connections, options_.connections)};
  } else if (!welcome || (!fault && !seat(guest, reply))) {
    fault = ConnectFault{false, not_its_own(guest.address)};
  }
  co_return fault;
}

// A certificate is the edge's even where the edge has begun anew, so the last one counts.
void Reception::begin_session(Guest& guest) {
  if (session_) log::warning("the edge begins again; its connections so far are dropped");
  session_.emplace();
  RAND_bytes(reinterpret_cast<unsigned char*>(session_->id.data()),
             static_cast<int>(session_->id.size()));
  session_->fingerprint = guest.stream->peer_fingerprint();
  session_->streams.resize(static_cast<std::size_t>(options_.connections));
  session_limit_.expires_after(options_.handshake_timeout * options_.connections);
  session_limit_.async_wait([this](const asio::error_code& cancelled) {
    const bool renewed = session_limit_.expiry() > std::chrono::steady_clock::now();
    if (cancelled || renewed || outcome_ || !session_) return;
    log::warning("the edge opened {} of {} connections; still waiting for the edge", seated(),
                 session_->streams.size());
    session_.reset();
  });
}

bool Reception::belongs(Guest& guest, const wire::Opening& opening) const {
  if (!session_ || session_->streams[opening.connection]) return false;
  if (opening.connection == 0) return true;
  const auto& id = session_->id;
  return CRYPTO_memcmp(opening.session.data(), id.data(), id.size()) == 0 &&
         guest.stream->peer_fingerprint() == session_->fingerprint;
}

// False where the session was dropped, or the seat taken, while the guest was being answered.
bool Reception::seat(Guest& guest, const wire::Opening& place) {
  if (outcome_ || !session_ || session_->id != place.session) return false;
  auto& seat = session_->streams[place.connection];
  if (seat) return false;
  seat = std::move(guest.stream);
  if (seated() == session_->streams.size()) end({});
  return true;
}

std::size_t Reception::seated() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      session_->streams, [](const auto& stream) { return stream != nullptr; }));
}

}  // namespace hairpin::link

// The cloud's side of making a link: everybody who connects is heard at once, so that nobody can
// hold up the edge, until one edge has all its connections. Includes Asio; used by listener.cc
// only.
#pragma once

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hairpin/link/connect.h"

namespace hairpin::link {

class Reception {
 public:
  using Streams = std::vector<std::unique_ptr<ByteStream>>;

  // `io` runs nothing else. `acceptor` listens, on `io`.
  Reception(asio::io_context& io, asio::ip::tcp::acceptor& acceptor, const TlsLinkOptions& options);

  // Waits for an edge for at most `limit`; afterwards nothing of it is left in `io` and the
  // acceptor is closed. Errors as Listener::accept.
  Result<Streams> run(std::chrono::milliseconds limit);

 private:
  struct Guest;
  using GuestPtr = std::shared_ptr<Guest>;
  struct Session {
    wire::SessionId id{};
    Digest fingerprint{};  // of the edge's certificate
    Streams streams;       // by connection; null: not there yet
  };

  asio::awaitable<void> accept_all();
  void admit(asio::ip::tcp::socket socket);
  static void limit_to(const GuestPtr& guest, std::chrono::milliseconds time);
  asio::awaitable<void> meet(GuestPtr guest);
  asio::awaitable<std::optional<ConnectFault>> hear(Guest& guest);
  asio::awaitable<std::optional<ConnectFault>> answer(Guest& guest, wire::Opening opening);
  bool belongs(Guest& guest, const wire::Opening& opening) const;
  void begin_session(Guest& guest);
  bool seat(Guest& guest, const wire::Opening& place);
  std::size_t seated() const;
  void end(Result<void> outcome);

  asio::io_context& io_;
  asio::ip::tcp::acceptor& acceptor_;
  const TlsLinkOptions& options_;
  std::list<GuestPtr> guests_;  // who is not seated yet, oldest first
  std::optional<Session> session_;
  asio::steady_timer session_limit_;
  std::optional<Result<void>> outcome_;  // once it is over
};

}  // namespace hairpin::link

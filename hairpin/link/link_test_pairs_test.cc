#include "hairpin/link/link_test_pairs.h"

#include <filesystem>
#include <future>

#include "hairpin/link/memory_link.h"
#include "hairpin/link/test_keys.h"
#include "hairpin/link/tls_link.h"

namespace hairpin::link {
namespace {

LinkPair memory_pair(SentObserver edge_sent, SentObserver cloud_sent) {
  auto pair =
      make_memory_pair({.edge_sent = std::move(edge_sent), .cloud_sent = std::move(cloud_sent)});
  return {std::move(pair.edge), std::move(pair.cloud)};
}

LinkPair slow_memory_pair(SentObserver edge_sent, SentObserver cloud_sent) {
  auto pair = make_memory_pair({.delay_up = std::chrono::milliseconds(3),
                                .delay_down = std::chrono::milliseconds(1),
                                .jitter = std::chrono::milliseconds(2),
                                .seed = 5,
                                .edge_sent = std::move(edge_sent),
                                .cloud_sent = std::move(cloud_sent)});
  return {std::move(pair.edge), std::move(pair.cloud)};
}

TlsLinkOptions options_of(const std::filesystem::path& keys, int connections, SentObserver sent) {
  return {.port = 0,
          .keys = keys,
          .insecure_loopback = keys.empty(),
          .connections = connections,
          .sent = std::move(sent)};
}

// Both ends over TCP; the edge dials on a thread of its own, since TLS needs both.
LinkPair tcp_pair(const std::filesystem::path& keys, int connections, SentObserver edge_sent,
                  SentObserver cloud_sent) {
  const auto keys_of = [&](std::string_view site) { return keys.empty() ? keys : keys / site; };
  auto listener =
      Listener::bind(options_of(keys_of("cloud"), connections, std::move(cloud_sent))).value();
  auto edge_options = options_of(keys_of("edge"), connections, std::move(edge_sent));
  edge_options.port = listener.port();
  auto edge = std::async(std::launch::async, [&] { return dial(edge_options); });
  auto cloud = listener.accept();
  return {edge.get().value(), std::move(cloud).value()};
}

MakePair tls_pair(int connections) {
  return [connections](SentObserver edge_sent, SentObserver cloud_sent) {
    static const TestKeys keys;
    return tcp_pair(keys.directory(), connections, std::move(edge_sent), std::move(cloud_sent));
  };
}

MakePair plain_pair(int connections) {
  return [connections](SentObserver edge_sent, SentObserver cloud_sent) {
    return tcp_pair({}, connections, std::move(edge_sent), std::move(cloud_sent));
  };
}

}  // namespace

std::vector<PairMaker> all_pairs() {
  return {{"Memory", memory_pair},
          {"MemoryWithDelay", slow_memory_pair},
          {"Tls", tls_pair(1)},
          {"TlsOverFour", tls_pair(4)},
          {"InsecureLoopback", plain_pair(1)},
          {"InsecureLoopbackOverThree", plain_pair(3)}};
}

}  // namespace hairpin::link

#include "hairpin/link/link_test_pairs.h"

#include "hairpin/link/memory_link.h"

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

}  // namespace

std::vector<PairMaker> all_pairs() {
  return {{"Memory", memory_pair}, {"MemoryWithDelay", slow_memory_pair}};
}

}  // namespace hairpin::link

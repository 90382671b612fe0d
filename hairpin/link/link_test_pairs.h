// The twins as the tests make them: two connected ends.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "hairpin/link/link.h"

namespace hairpin::link {

struct LinkPair {
  std::unique_ptr<Link> edge, cloud;
};

// `edge_sent` and `cloud_sent` may be null.
using MakePair = std::function<LinkPair(SentObserver edge_sent, SentObserver cloud_sent)>;

struct PairMaker {
  std::string name;
  MakePair connect;
  LinkPair make(SentObserver edge_sent = nullptr, SentObserver cloud_sent = nullptr) const {
    return connect(std::move(edge_sent), std::move(cloud_sent));
  }
};

inline std::ostream& operator<<(std::ostream& out, const PairMaker& maker) {
  return out << maker.name;
}

std::vector<PairMaker> all_pairs();

}  // namespace hairpin::link

// The sending side of fragments: takes frames from an endpoint, control before bulk, and cuts them.
// Several connections may take fragments of one frame. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "hairpin/link/endpoint.h"
#include "hairpin/link/link.h"
#include "hairpin/wire/fragment.h"

namespace hairpin::link {

class Cutter {
  struct Frame;

 public:
  // Long enough that headers and system calls don't count, short enough that a control frame waits
  // 2.6 ms for the rest of one at 200 Mbit/s.
  static constexpr std::uint32_t kFragmentBytes = std::uint32_t{64} << 10;

  // `endpoint` outlives the cutter.
  Cutter(Endpoint& endpoint, SentObserver observer);

  // What a connection carries.
  struct Lanes {
    bool control = true, bulk = true;
  };
  // A fragment under way.
  struct Cut {
    std::shared_ptr<Frame> frame;
    std::uint32_t bytes = 0;
  };

  // Writes the next fragment, with its header, into `out`, whose content is replaced. Empty: there
  // is none of these lanes now.
  std::optional<Cut> next(Lanes lanes, Bytes& out);
  // The fragment has been handed over.
  void done(const Cut& cut);

  // After a goodbye or a refusal nothing more is cut. A refusal doesn't wait for fragments that are
  // still under way on other connections; a goodbye has everything before it handed over.
  bool refused() const { return last_word_done_ && refusing_; }
  bool finished() const { return last_word_done_ && under_way_ == 0; }

 private:
  std::optional<Cut> next_of(wire::Lane lane, Bytes& out);
  std::shared_ptr<Frame> take_frame(wire::Lane lane);
  void give_up_bulk();

  Endpoint& endpoint_;
  const SentObserver observer_;
  std::array<std::shared_ptr<Frame>, 2> current_;  // by lane: not wholly cut yet
  std::array<std::uint64_t, 2> sequences_{};
  std::uint64_t under_way_ = 0;  // fragments
  bool last_word_taken_ = false, last_word_done_ = false, refusing_ = false;
};

}  // namespace hairpin::link

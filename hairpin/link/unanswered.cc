#include "hairpin/link/unanswered.h"

#include <algorithm>

namespace hairpin::link {

std::chrono::milliseconds Unanswered::see(Moment now, const TcpState& state) {
  if (!state.unacknowledged) {
    since_.reset();
    return {};
  }
  if (!since_) since_ = now;
  // What was unacknowledged at two looks need not be the same bytes: then an acknowledgement came.
  return std::min(std::chrono::floor<std::chrono::milliseconds>(now - *since_),
                  state.since_acknowledged);
}

}  // namespace hairpin::link

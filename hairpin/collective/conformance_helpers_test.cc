#include <chrono>
#include <sstream>
#include <thread>

#include "hairpin/collective/conformance.h"

namespace hairpin::collective {

std::string name_of(const Call& call, const Group& group) {
  std::ostringstream text;
  text << call << ", rank " << group.rank() << " of " << group.size();
  return text.str();
}

void dawdle(std::minstd_rand& random) {
  const auto draw = random() % 8;
  if (draw < 3) std::this_thread::yield();
  if (draw == 3) std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Aborted& aborted) {
    EXPECT_EQ(aborted.error().message, aborted.what());
    return aborted.what();
  }
  return "nothing was thrown";
}

}  // namespace hairpin::collective

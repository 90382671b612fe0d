#include "hairpin/link/mailbox.h"

#include <gtest/gtest.h>

namespace hairpin::link {
namespace {

wire::Message chunk() { return wire::WeightsChunk{.entry = 0, .offset = 0, .payload = Bytes(1)}; }

TEST(Mailbox, IsCrowdedUntilTheProgramReceives) {
  Mailbox mailbox(wire::Role::edge);
  mailbox.set_max_frame_bytes(100);
  for (int i = 0; i < 4; ++i) mailbox.deliver(chunk(), 100);
  EXPECT_FALSE(mailbox.crowded());
  mailbox.deliver(chunk(), 1);
  EXPECT_TRUE(mailbox.crowded());
  ASSERT_TRUE(mailbox.receive());
  EXPECT_FALSE(mailbox.crowded());
}

TEST(Mailbox, AnEndedOneIsNotCrowded) {
  Mailbox mailbox(wire::Role::edge);
  mailbox.set_max_frame_bytes(1);
  mailbox.deliver(chunk(), 100);
  ASSERT_TRUE(mailbox.crowded());
  mailbox.close({ErrorKind::link_lost, "cut"});
  EXPECT_FALSE(mailbox.crowded());
}

}  // namespace
}  // namespace hairpin::link

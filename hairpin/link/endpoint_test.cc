#include "hairpin/link/endpoint.h"

#include <gtest/gtest.h>

namespace hairpin::link {
namespace {

wire::Arrived chunk_of(std::uint64_t frame_bytes) {
  return {wire::WeightsChunk{.payload = Bytes(1)}, {.frame_bytes = frame_bytes}};
}

TEST(Endpoint, IsCrowdedUntilTheProgramReceives) {
  Endpoint endpoint(wire::Role::edge);
  endpoint.set_max_frame_bytes(100);
  for (int i = 0; i < 4; ++i) endpoint.deliver(chunk_of(100));
  EXPECT_FALSE(endpoint.crowded());
  endpoint.deliver(chunk_of(1));
  EXPECT_TRUE(endpoint.crowded());
  ASSERT_TRUE(endpoint.receive());
  EXPECT_FALSE(endpoint.crowded());
}

TEST(Endpoint, AnEndedOneIsNotCrowded) {
  Endpoint endpoint(wire::Role::edge);
  endpoint.set_max_frame_bytes(1);
  endpoint.deliver(chunk_of(100));
  ASSERT_TRUE(endpoint.crowded());
  endpoint.close({ErrorKind::link_lost, "cut"});
  EXPECT_FALSE(endpoint.crowded());
}

}  // namespace
}  // namespace hairpin::link

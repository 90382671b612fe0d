#include "hairpin/link/handshake.h"

#include <gtest/gtest.h>

#include <future>

#include "hairpin/link/memory_link.h"

namespace hairpin::link {
namespace {

using wire::Role;

void expect_contains(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks: " << part;
}

struct Outcome {
  Result<void> edge, cloud;
};

Outcome shake(const Contract& edge, const Contract& cloud, Role cloud_role = Role::cloud) {
  const auto pair = make_memory_pair();
  auto at_edge =
      std::async(std::launch::async, [&] { return handshake(*pair.edge, Role::edge, edge); });
  auto at_cloud = handshake(*pair.cloud, cloud_role, cloud);
  return {at_edge.get(), at_cloud};
}

TEST(Handshake, EqualContractsAgreeAndTheLinkGoesOn) {
  const Contract contract{{{"split.layers", "[2, 10, 2]"}, {"link.codec", "fp32"}}};
  const auto pair = make_memory_pair();
  auto at_edge =
      std::async(std::launch::async, [&] { return handshake(*pair.edge, Role::edge, contract); });
  EXPECT_TRUE(handshake(*pair.cloud, Role::cloud, contract));
  EXPECT_TRUE(at_edge.get());
  ASSERT_TRUE(pair.edge->send(wire::Manifest{.step = 4}));
  EXPECT_EQ(std::get<wire::Manifest>(pair.cloud->receive().value()).step, 4u);
}

TEST(Handshake, EveryDifferenceIsNamedOnBothSides) {
  const auto [edge, cloud] =
      shake({{{"link.codec", "fp32"}, {"train.steps", "10"}, {"seed", "1"}, {"same", "x"}}},
            {{{"link.codec", "bf16"}, {"train.steps", "10"}, {"same", "x"}, {"dtype", "F32"}}});
  for (const auto& side : {edge, cloud}) {
    ASSERT_FALSE(side);
    EXPECT_EQ(side.error().kind, ErrorKind::peer);
    expect_contains(side.error().message,
                    "link.codec is \"fp32\" at the edge and \"bf16\" at the cloud");
    expect_contains(side.error().message, "seed is \"1\" at the edge and missing at the cloud");
    expect_contains(side.error().message, "dtype is missing at the edge and \"F32\" at the cloud");
    EXPECT_EQ(side.error().message.find("train.steps"), std::string::npos);
    EXPECT_EQ(side.error().message.find("refused"), std::string::npos) << "found by itself";
  }
}

TEST(Handshake, OrderAndDoublesDiffer) {
  expect_contains(
      shake({{{"a", "1"}, {"b", "2"}}}, {{{"b", "2"}, {"a", "1"}}}).edge.error().message,
      "another order");
  expect_contains(shake({{{"a", "1"}}}, {{{"a", "1"}, {"a", "1"}}}).cloud.error().message, "twice");
}

TEST(Handshake, DigestIsOfTheMessagesBody) {
  EXPECT_EQ(to_hex(Contract{}.digest()),
            "df3f619804a92fdb4057192dc43dd748ea778adc52bc498ce80524c014b81119");  // of 00 00 00 00
}

TEST(Handshake, TwoOfOneRole) {
  const auto [edge, cloud] = shake({}, {}, Role::edge);
  for (const auto& side : {edge, cloud}) {
    ASSERT_FALSE(side);
    expect_contains(side.error().message, "both sites say that they are the edge");
  }
}

// The peer sends `first` instead of a Hello of this version.
std::pair<Error, Error> against(wire::Message first) {
  const auto pair = make_memory_pair();
  EXPECT_TRUE(pair.edge->send(std::move(first)));
  const auto cloud = handshake(*pair.cloud, Role::cloud, {});
  EXPECT_TRUE(pair.edge->receive());  // the cloud's Hello
  EXPECT_TRUE(pair.edge->receive());  // and its contract
  const auto edge = pair.edge->receive();
  EXPECT_FALSE(cloud);
  EXPECT_FALSE(edge);
  return {cloud.error(), edge.error()};
}

TEST(Handshake, AnotherVersionIsNamedWithOurs) {
  const auto [cloud, edge] = against(wire::Hello{7, Role::edge, "hairpin\x1b 9"});
  EXPECT_EQ(cloud.kind, ErrorKind::peer);
  expect_contains(cloud.message, "(hairpin? 9) speaks protocol version 7 and this site version 2");
  EXPECT_EQ(edge.kind, ErrorKind::peer);
  expect_contains(edge.message, "the cloud refused:");
  expect_contains(edge.message, "version 7");
}

TEST(Handshake, SomethingElseFirst) {
  const auto [cloud, edge] = against(wire::WeightsRequest{});
  EXPECT_EQ(cloud.kind, ErrorKind::peer);
  expect_contains(cloud.message, "a weights-request message where a hello was due");
  EXPECT_EQ(edge.kind, ErrorKind::peer);
}

}  // namespace
}  // namespace hairpin::link

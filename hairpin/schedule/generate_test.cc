#include "hairpin/schedule/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "hairpin/schedule/notation.h"

namespace hairpin::schedule {
namespace {

using testing::HasSubstr;

std::string list(const Schedule& schedule, int rank) {
  const Notation notation(schedule);
  std::string text;
  for (const Op& op : schedule.ranks[static_cast<std::size_t>(rank)])
    text += (text.empty() ? "" : " ") + notation.text(op);
  return text;
}

Schedule made(std::string_view kind, const GenerateOptions& options) {
  auto schedule = generate(kind, options);
  EXPECT_TRUE(schedule) << schedule.error().message;
  return schedule.value();
}

struct Reference {
  std::string kind;
  GenerateOptions options;
  int rank;
  std::string ops;
};

// The reference orders of the spec, then small cases worked out by hand from its rules.
const Reference kReferences[] = {
    {"hairpin-1f1b", {2, 4}, 0, "FS1 FS2 FS3 FE1 BS1 FE2 BS2 FS4 FE3 BS3 BE1 FE4 BS4 BE2 BE3 BE4"},
    {"hairpin-1f1b", {2, 4}, 1, "F1 F2 B1 F3 B2 F4 B3 B4"},
    {"hairpin-1f1b",
     {3, 8},
     0,
     "FS1 FS2 FS3 FS4 FE1 BS1 FE2 BS2 FS5 FE3 BS3 BE1 FS6 FE4 BS4 BE2 FS7 FE5 BS5 BE3 FS8 FE6 BS6 "
     "BE4 FE7 BS7 BE5 FE8 BS8 BE6 BE7 BE8"},
    {"hairpin-1f1b", {3, 8}, 1, "F1 F2 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 F8 B6 B7 B8"},
    {"hairpin-1f1b", {3, 8}, 2, "F1 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 F8 B7 B8"},
    {"hairpin-1f1b", {5, 4}, 0, "FS1 FS2 FS3 FS4 FE1 BS1 FE2 BS2 FE3 BS3 FE4 BS4 BE1 BE2 BE3 BE4"},
    {"hairpin-1f1b",
     {2, 2, 2},
     0,
     "FS1.0 FS1.1 FS2.0 FS2.1 FE1.0 BS1.0 FE1.1 BS1.1 FE2.0 BS2.0 FE2.1 BS2.1 BE1.0 BE1.1 BE2.0 "
     "BE2.1"},
    {"hairpin-1f1b", {2, 2, 2}, 1, "F1.0 F2.0 B1.0 B2.0"},
    {"hairpin-1f1b", {2, 2, 2}, 2, "F1.1 F2.1 B1.1 B2.1"},
    {"hairpin-1f1b",
     {2, 4, 2, 2},
     1,
     "FS1.1 FS2.1 FS3.1 FE1.1 BS1.1 FE2.1 BS2.1 FS4.1 FE3.1 BS3.1 BE1.1 FE4.1 BS4.1 BE2.1 BE3.1 "
     "BE4.1"},
    {"hairpin-1f1b", {2, 4, 1, 2}, 0, "FS1 FS3 FE1 BS1 FE3 BS3 BE1 BE3"},
    {"hairpin-1f1b", {2, 4, 1, 2}, 1, "FS2 FS4 FE2 BS2 FE4 BS4 BE2 BE4"},
    {"hairpin-1f1b", {2, 4, 1, 2}, 2, "F1 F2 B1 F3 B2 F4 B3 B4"},
    {"hairpin-1f1b",
     {2, 4, 4, 2},
     1,
     "FS1.1 FS1.3 FS2.1 FS2.3 FS3.1 FS3.3 FE1.1 BS1.1 FE1.3 BS1.3 FE2.1 BS2.1 FE2.3 BS2.3 FS4.1 "
     "FE3.1 BS3.1 BE1.1 FS4.3 FE3.3 BS3.3 BE1.3 FE4.1 BS4.1 BE2.1 FE4.3 BS4.3 BE2.3 BE3.1 BE3.3 "
     "BE4.1 BE4.3"},
    {"hairpin-1f1b",
     {2, 6, 2, 4},
     2,
     "FS2.0 FS4.0 FE2.0 BS2.0 FS6.0 FE4.0 BS4.0 BE2.0 FE6.0 BS6.0 BE4.0 BE6.0"},
    {"hairpin-1f1b",
     {2, 5, 2, 3},
     0,
     "FS1.0 FS2.1 FS4.0 FE1.0 BS1.0 FE2.1 BS2.1 FS5.1 FE4.0 BS4.0 BE1.0 FE5.1 BS5.1 BE2.1 BE4.0 "
     "BE5.1"},
    {"hairpin-1f1b",
     {2, 5, 2, 3},
     1,
     "FS1.1 FS3.0 FS4.1 FE1.1 BS1.1 FE3.0 BS3.0 FE4.1 BS4.1 BE1.1 BE3.0 BE4.1"},
    {"hairpin-1f1b", {2, 5, 2, 3}, 4, "F1.1 F2.1 B1.1 F3.1 B2.1 F4.1 B3.1 F5.1 B4.1 B5.1"},
    {"hairpin-1f1b", {2, 1}, 0, "FS1 FE1 BS1 BE1"},
    {"hairpin-1f1b", {8, 1}, 7, "F1 B1"},
    {"gpipe", {2, 2, 1, 1, Shape::hairpin}, 0, "FS1 FS2 FE1 FE2 BS1 BS2 BE1 BE2"},
    {"gpipe", {2, 2, 1, 1, Shape::hairpin}, 1, "F1 F2 B1 B2"},
    {"gpipe",
     {2, 2, 2, 1, Shape::hairpin},
     0,
     "FS1.0 FS1.1 FS2.0 FS2.1 FE1.0 FE1.1 FE2.0 FE2.1 BS1.0 BS1.1 BS2.0 BS2.1 BE1.0 BE1.1 BE2.0 "
     "BE2.1"},
    {"gpipe", {2, 2, 2, 3, Shape::hairpin}, 0, "FS1.0 FS2.1 FE1.0 FE2.1 BS1.0 BS2.1 BE1.0 BE2.1"},
    {"gpipe", {1, 3}, 0, "F1 F2 F3 B1 B2 B3"},
    {"gpipe", {1, 2, 3}, 2, "F1.2 F2.2 B1.2 B2.2"},
    {"1f1b", {1, 2, 3}, 1, "F1.1 B1.1 F2.1 B2.1"},
    {"gpipe", {2, 2, 2}, 3, "F1.1 F2.1 B1.1 B2.1"},
    {"1f1b", {1, 3}, 0, "F1 B1 F2 B2 F3 B3"},
    {"1f1b", {4, 5}, 0, "F1 F2 F3 F4 B1 F5 B2 B3 B4 B5"},
    {"1f1b", {4, 5}, 2, "F1 F2 B1 F3 B2 F4 B3 F5 B4 B5"},
    {"1f1b", {4, 5}, 3, "F1 B1 F2 B2 F3 B3 F4 B4 F5 B5"},
    {"1f1b", {4, 2}, 0, "F1 F2 B1 B2"},
};

TEST(Generate, ReferenceOrders) {
  for (const Reference& want : kReferences)
    EXPECT_EQ(list(made(want.kind, want.options), want.rank), want.ops)
        << want.kind << " pp " << want.options.pp << " rank " << want.rank;
}

TEST(Generate, LayoutOfAHairpinWithDomains) {
  const Schedule schedule = made("hairpin-1f1b", {3, 4, 2});
  EXPECT_EQ(schedule.position_of_stage, (std::vector{0, 1, 2, 0}));
  EXPECT_EQ(schedule.num_ranks(), 5);
  EXPECT_EQ(schedule.rank_of(3, 1, 0), 0);
  EXPECT_EQ(schedule.rank_of(2, 1, 0), 4);
  EXPECT_EQ(schedule.stages_of(0), (std::vector{0, 3}));
  EXPECT_EQ(schedule.stages_of(4), (std::vector{2}));
  EXPECT_EQ(schedule.kind, "hairpin-1f1b");
}

TEST(Generate, LayoutOfAHairpinWithEdgeReplicas) {
  const Schedule schedule = made("hairpin-1f1b", {3, 4, 2, 3});
  EXPECT_EQ(schedule.edge_ranks, 3);
  EXPECT_EQ(schedule.pp(), 3);
  EXPECT_EQ(schedule.position_of_stage, (std::vector{0, 1, 2, 0}));
  EXPECT_EQ(schedule.num_ranks(), 3 + 2 * 2);
  EXPECT_EQ(schedule.number_of(3, 1), 7);
  EXPECT_EQ(schedule.rank_of(0, 1, 3), 1);
  EXPECT_EQ(schedule.rank_of(3, 0, 1), 2);
  EXPECT_EQ(schedule.rank_of(1, 0, 1), 3);
  EXPECT_EQ(schedule.rank_of(2, 1, 3), 6);
  struct Place {
    bool edge;
    int position, replica;
    std::vector<int> stages;
  };
  const Place places[] = {{true, 0, 0, {0, 3}}, {true, 0, 1, {0, 3}}, {true, 0, 2, {0, 3}},
                          {false, 1, 0, {1}},   {false, 2, 0, {2}},   {false, 1, 1, {1}},
                          {false, 2, 1, {2}}};
  for (int rank = 0; rank < schedule.num_ranks(); ++rank) {
    const Place& want = places[rank];
    EXPECT_EQ(schedule.is_edge(rank), want.edge) << rank;
    EXPECT_EQ(schedule.position_of(rank), want.position) << rank;
    EXPECT_EQ(schedule.replica_of(rank), want.replica) << rank;
    EXPECT_EQ(schedule.stages_of(rank), want.stages) << rank;
  }
}

TEST(Generate, LayoutOfALineWithDomains) {
  const Schedule schedule = made("1f1b", {2, 3, 2});
  EXPECT_EQ(schedule.edge_ranks, 0);
  EXPECT_EQ(schedule.pp(), 2);
  EXPECT_EQ(schedule.num_ranks(), 4);
  EXPECT_EQ(schedule.rank_of(1, 1, 2), 3);
  EXPECT_FALSE(schedule.is_edge(0));
  EXPECT_EQ(schedule.position_of(2), 0);
  EXPECT_EQ(schedule.replica_of(2), 1);
  EXPECT_EQ(schedule.stages_of(3), (std::vector{1}));
}

// The rule for one edge replica as the spec writes it: units, each repeated for every domain.
std::vector<Op> in_units(int pp, int m, int domains) {
  std::vector<Op> ops;
  const auto repeat = [&](const std::vector<Op>& unit) {
    for (int domain = 0; domain < domains; ++domain)
      for (Op op : unit) op.domain = domain, ops.push_back(op);
  };
  const int warmup = std::min(pp + 1, m), pairs = std::min(m, (4 * (pp + 1) + 1) / 6);
  for (int i = 0; i < warmup; ++i) repeat({{OpKind::forward, 0, i}});
  for (int i = 0; i < m; ++i) {
    std::vector<Op> unit = {{OpKind::forward, pp, i}, {OpKind::backward, pp, i}};
    if (i >= pairs) unit.push_back({OpKind::backward, 0, i - pairs});
    if (const int fs = warmup + i - pairs; i >= pairs && fs < m)
      unit.insert(unit.begin(), {OpKind::forward, 0, fs});
    repeat(unit);
  }
  for (int i = m - pairs; i < m; ++i) repeat({{OpKind::backward, 0, i}});
  return ops;
}

TEST(Generate, OneReplicaRepeatsEachUnitForEveryDomain) {
  for (int pp = 2; pp <= 6; ++pp)
    for (int m = 1; m <= 12; ++m)
      for (int domains = 1; domains <= 4; ++domains)
        EXPECT_EQ(made("hairpin-1f1b", {pp, m, domains}).ranks[0], in_units(pp, m, domains))
            << "pp " << pp << " m " << m << " domains " << domains;
}

TEST(Generate, AReplicaForEachDomainRunsTheOrderOfOneDomain) {
  for (int pp = 2; pp <= 6; ++pp)
    for (int m = 1; m <= 12; ++m) {
      const Schedule one = made("hairpin-1f1b", {pp, m}),
                     three = made("hairpin-1f1b", {pp, m, 3, 3});
      for (int replica = 0; replica < 3; ++replica) {
        std::vector<Op> want = one.ranks[0];
        for (Op& op : want) op.domain = replica;
        EXPECT_EQ(three.ranks[static_cast<std::size_t>(replica)], want)
            << "pp " << pp << " m " << m;
      }
    }
}

// Two replicas for four domains: each runs its own part of what one replica would run.
TEST(Generate, ReplicasThatDivideTheDomainsShareTheOrderOfOneReplica) {
  for (const char* kind : {"gpipe", "hairpin-1f1b"})
    for (int pp = 2; pp <= 6; ++pp)
      for (int m = 1; m <= 12; ++m) {
        const Schedule one = made(kind, {pp, m, 4, 1, Shape::hairpin});
        const Schedule two = made(kind, {pp, m, 4, 2, Shape::hairpin});
        for (int replica = 0; replica < 2; ++replica) {
          std::vector<Op> want = one.ranks[0];
          std::erase_if(want, [replica](const Op& op) { return op.domain % 2 != replica; });
          EXPECT_EQ(two.ranks[static_cast<std::size_t>(replica)], want)
              << kind << " pp " << pp << " m " << m;
        }
      }
}

std::string refusal(std::string_view kind, const GenerateOptions& options) {
  const auto schedule = generate(kind, options);
  if (schedule) return "accepted";
  EXPECT_EQ(schedule.error().kind, ErrorKind::bad_input);
  return schedule.error().message;
}

TEST(Generate, Refusals) {
  EXPECT_THAT(refusal("hairpin-1f1", {3, 4}), HasSubstr("did you mean \"hairpin-1f1b\"?"));
  EXPECT_THAT(refusal("zigzag", {3, 4}),
              HasSubstr("use gpipe, 1f1b, zb-h1, hairpin-1f1b or hairpin-adaptive"));
  EXPECT_THAT(refusal("interleaved", {3, 4}), HasSubstr("\"interleaved\" is not built yet"));
  EXPECT_THAT(refusal("hairpin-1f1b", {1, 4}), HasSubstr("pp >= 2"));
  EXPECT_THAT(refusal("gpipe", {1, 4, 1, 1, Shape::hairpin}), HasSubstr("pp >= 2"));
  EXPECT_THAT(refusal("gpipe", {0, 4}), HasSubstr("pp >= 1, got 0"));
  EXPECT_THAT(refusal("1f1b", {2, 0}), HasSubstr("microbatches >= 1, got 0"));
  EXPECT_THAT(refusal("1f1b", {2, 4, 0}), HasSubstr("domains >= 1, got 0"));
  EXPECT_THAT(refusal("1f1b", {2, 4, 1, 1, Shape::hairpin}),
              HasSubstr("use hairpin-adaptive or hairpin-1f1b"));
  EXPECT_THAT(refusal("hairpin-1f1b", {2, 4, 1, 1, Shape::line}), HasSubstr("use 1f1b or zb-h1"));
}

TEST(Generate, RefusesEdgeReplicasWithoutWork) {
  EXPECT_EQ(refusal("hairpin-1f1b", {2, 3, 2, 6}), "accepted");
  EXPECT_EQ(
      refusal("hairpin-1f1b", {2, 3, 2, 7}),
      "schedule hairpin-1f1b has 6 microbatches a step (3 in each of 2 domains), too few for 7 "
      "edge replicas; use at most 6 replicas or more microbatches");
  EXPECT_THAT(refusal("hairpin-1f1b", {2, 3, 2, 2000000000}), HasSubstr("at most 6 replicas"));
  EXPECT_THAT(refusal("hairpin-1f1b", {2, 3, 2, 0}), HasSubstr("edges >= 1, got 0"));
  EXPECT_EQ(
      refusal("1f1b", {2, 3, 2, 2}),
      "schedule 1f1b on a line of ranks has no edge, but 2 edge replicas were asked for; leave "
      "them out, and use domains for data parallelism");
  EXPECT_THAT(refusal("gpipe", {2, 3, 2, 0}), HasSubstr("has no edge"));
}

TEST(Generate, RefusesASizeBeforeAllocatingIt) {
  EXPECT_THAT(refusal("gpipe", {2000000000, 2000000000, 2000000000}), HasSubstr("lower one"));
  EXPECT_EQ(refusal("gpipe", {1, 1 << 21}), "accepted");
  EXPECT_THAT(refusal("gpipe", {1, (1 << 21) + 1}), HasSubstr("more than 4194304 ops"));
}

}  // namespace
}  // namespace hairpin::schedule

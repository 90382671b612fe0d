#include "hairpin/schedule/generate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    {"hairpin-1f1b", {2, 1}, 0, "FS1 FE1 BS1 BE1"},
    {"hairpin-1f1b", {8, 1}, 7, "F1 B1"},
    {"gpipe", {2, 2, 1, 1, Shape::hairpin}, 0, "FS1 FS2 FE1 FE2 BS1 BS2 BE1 BE2"},
    {"gpipe", {2, 2, 1, 1, Shape::hairpin}, 1, "F1 F2 B1 B2"},
    {"gpipe",
     {2, 2, 2, 1, Shape::hairpin},
     0,
     "FS1.0 FS1.1 FS2.0 FS2.1 FE1.0 FE1.1 FE2.0 FE2.1 BS1.0 BS1.1 BS2.0 BS2.1 BE1.0 BE1.1 BE2.0 "
     "BE2.1"},
    {"gpipe", {1, 3}, 0, "F1 F2 F3 B1 B2 B3"},
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

std::string refusal(std::string_view kind, const GenerateOptions& options) {
  const auto schedule = generate(kind, options);
  if (schedule) return "accepted";
  EXPECT_EQ(schedule.error().kind, ErrorKind::bad_input);
  return schedule.error().message;
}

TEST(Generate, Refusals) {
  EXPECT_THAT(refusal("hairpin-1f1", {3, 4}), HasSubstr("did you mean \"hairpin-1f1b\"?"));
  EXPECT_THAT(refusal("zigzag", {3, 4}), HasSubstr("use gpipe, 1f1b or hairpin-1f1b"));
  EXPECT_THAT(refusal("interleaved", {3, 4}), HasSubstr("\"interleaved\" is not built yet"));
  EXPECT_THAT(refusal("hairpin-adaptive", {3, 4}), HasSubstr("is not built yet"));
  EXPECT_THAT(refusal("hairpin-1f1b", {1, 4}), HasSubstr("pp >= 2"));
  EXPECT_THAT(refusal("gpipe", {1, 4, 1, 1, Shape::hairpin}), HasSubstr("pp >= 2"));
  EXPECT_THAT(refusal("gpipe", {0, 4}), HasSubstr("pp >= 1, got 0"));
  EXPECT_THAT(refusal("1f1b", {2, 0}), HasSubstr("microbatches >= 1, got 0"));
  EXPECT_THAT(refusal("1f1b", {2, 4, 0}), HasSubstr("domains >= 1, got 0"));
  EXPECT_THAT(refusal("1f1b", {2, 4, 1, 1, Shape::hairpin}), HasSubstr("use hairpin-1f1b"));
  EXPECT_THAT(refusal("hairpin-1f1b", {2, 4, 1, 1, Shape::line}), HasSubstr("use 1f1b"));
}

TEST(Generate, RefusesASizeBeforeAllocatingIt) {
  EXPECT_THAT(refusal("gpipe", {2000000000, 2000000000, 2000000000}), HasSubstr("lower one"));
  EXPECT_EQ(refusal("gpipe", {1, 1 << 21}), "accepted");
  EXPECT_THAT(refusal("gpipe", {1, (1 << 21) + 1}), HasSubstr("more than 4194304 ops"));
}

}  // namespace
}  // namespace hairpin::schedule

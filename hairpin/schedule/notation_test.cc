#include "hairpin/schedule/notation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hairpin/schedule/generate.h"

namespace hairpin::schedule {
namespace {

using testing::HasSubstr;

std::string refusal(const Schedule& layout, int rank, std::string_view text) {
  const auto op = parse_op(layout, rank, text);
  return op ? "accepted" : op.error().message;
}

TEST(Notation, WritesAndReadsTheFourEdgeOps) {
  const Schedule one = generate("hairpin-1f1b", {3, 12}).value();
  const Notation notation(one);
  EXPECT_EQ(notation.text({OpKind::forward, 0, 0}), "FS1");
  EXPECT_EQ(notation.text({OpKind::forward, 3, 2}), "FE3");
  EXPECT_EQ(notation.text({OpKind::backward, 3, 9}), "BS10");
  EXPECT_EQ(notation.text({OpKind::backward, 0, 11}), "BE12");
  EXPECT_EQ(notation.text({OpKind::backward, 2, 0}), "B1");
  EXPECT_EQ(parse_op(one, 0, "BS10").value(), (Op{OpKind::backward, 3, 9}));
  EXPECT_EQ(parse_op(one, 2, "F4").value(), (Op{OpKind::forward, 2, 3}));
}

TEST(Notation, NamesTheDomainWhenThereAreSeveral) {
  const Schedule two = generate("hairpin-1f1b", {2, 4, 2}).value();
  EXPECT_EQ(Notation(two).text({OpKind::forward, 0, 0, 1}), "FS1.1");
  EXPECT_EQ(parse_op(two, 2, "B3.1").value(), (Op{OpKind::backward, 1, 2, 1}));
  const Schedule replicas = generate("hairpin-1f1b", {2, 4, 2, 3}).value();
  EXPECT_EQ(parse_op(replicas, 2, "FE3.1").value(), (Op{OpKind::forward, 2, 2, 1}));
  EXPECT_EQ(parse_op(replicas, 4, "B3.1").value(), (Op{OpKind::backward, 1, 2, 1}));
}

TEST(Notation, ASplitBackwardHasTwoNames) {
  const Schedule split =
      generate("hairpin-1f1b", {.pp = 3, .microbatches = 12, .domains = 2, .split_backward = true})
          .value();
  const Notation notation(split);
  EXPECT_EQ(notation.text({OpKind::backward_input, 3, 9, 1}), "BSi10.1");
  EXPECT_EQ(notation.text({OpKind::backward_weight, 3, 9, 0}), "BSw10.0");
  EXPECT_EQ(notation.text({OpKind::backward_weight, 1, 0, 1}), "Bw1.1");
  EXPECT_EQ(notation.text({OpKind::backward, 0, 0, 1}), "BE1.1");
  EXPECT_EQ(parse_op(split, 0, "BSw10.1").value(), (Op{OpKind::backward_weight, 3, 9, 1}));
  EXPECT_EQ(parse_op(split, 1, "Bi2.0").value(), (Op{OpKind::backward_input, 1, 1, 0}));
  EXPECT_THAT(refusal(split, 1, "B2.0"), HasSubstr("rank 1 has no op called \"B\""));
  EXPECT_THAT(refusal(split, 0, "BEi2.0"), HasSubstr("rank 0 has no op called \"BEi\""));
  const Schedule whole = generate("hairpin-1f1b", {3, 12}).value();
  EXPECT_THAT(refusal(whole, 1, "Bw2"), HasSubstr("rank 1 has no op called \"Bw\""));
}

TEST(Notation, Refusals) {
  const Schedule one = generate("hairpin-1f1b", {3, 4}).value();
  for (const char* text : {"", "FS", "1", "fs1", "FS1 ", " FS1", "FS1.0", "FS-1", "FS01", "FS+1",
                           "FS99999999999", "FS1x"})
    EXPECT_THAT(refusal(one, 0, text), HasSubstr("is not an op; write it like F1")) << text;
  EXPECT_THAT(refusal(one, 0, "FS0"), HasSubstr("microbatches are 1 to 4"));
  EXPECT_THAT(refusal(one, 0, "FS5"), HasSubstr("microbatches are 1 to 4"));
  EXPECT_THAT(refusal(one, 0, "F1"), HasSubstr("rank 0 has no op called \"F\""));
  EXPECT_THAT(refusal(one, 1, "FS1"), HasSubstr("rank 1 has no op called \"FS\""));
  EXPECT_THAT(refusal(one, 3, "F1"), HasSubstr("there is no rank 3"));
  EXPECT_THAT(refusal(one, -1, "F1"), HasSubstr("there is no rank -1"));
  const Schedule two = generate("hairpin-1f1b", {2, 4, 2}).value();
  for (const char* text : {"FS1", "FS1.", "FS1.x", "FS1.-1", "FS1.0.0"})
    EXPECT_THAT(refusal(two, 0, text), HasSubstr("is not an op; write it like F1.0")) << text;
  EXPECT_THAT(refusal(two, 0, "FS1.2"), HasSubstr("domains are 0 to 1"));
}

TEST(Notation, TableAndJson) {
  const Schedule hairpin = generate("hairpin-1f1b", {2, 1, 2}).value();
  const Notation notation(hairpin);
  EXPECT_EQ(ops_table(hairpin.ranks, rank_labels(hairpin), notation),
            "edge              FS1.0 FS1.1 FE1.0 BS1.0 FE1.1 BS1.1 BE1.0 BE1.1\n"
            "cloud 1 domain 0  F1.0 B1.0\n"
            "cloud 1 domain 1  F1.1 B1.1\n");
  const Schedule line = generate("1f1b", {2, 2}).value();
  EXPECT_EQ(ops_table(line.ranks, rank_labels(line), Notation(line)),
            "rank 0  F1 F2 B1 B2\n"
            "rank 1  F1 B1 F2 B2\n");
  EXPECT_EQ(ops_json(line.ranks, Notation(line)),
            "{\"ranks\":[[\"F1\",\"F2\",\"B1\",\"B2\"],[\"F1\",\"B1\",\"F2\",\"B2\"]]}\n");
}

TEST(Notation, LabelsOfEdgeReplicas) {
  EXPECT_THAT(rank_labels(generate("hairpin-1f1b", {3, 2, 1, 2}).value()),
              testing::ElementsAre("edge replica 0", "edge replica 1", "cloud 1", "cloud 2"));
}

TEST(Notation, LabelsOfALineWithDomains) {
  EXPECT_THAT(rank_labels(generate("gpipe", {2, 1, 2}).value()),
              testing::ElementsAre("rank 0 domain 0", "rank 1 domain 0", "rank 0 domain 1",
                                   "rank 1 domain 1"));
}

}  // namespace
}  // namespace hairpin::schedule

#include "hairpin/train/egress_recorder.h"

#include <gtest/gtest.h>

#include "hairpin/base/file.h"
#include "hairpin/base/temporary_directory.h"

namespace hairpin::train {
namespace {

class Recorder : public testing::Test {
 protected:
  TemporaryDirectory directory_;
  const std::filesystem::path file_ = directory_ / "egress.jsonl";
};

TEST_F(Recorder, WhatLeftBeforeTheLogWasOpenedIsInItToo) {
  EgressRecorder recorder;
  const auto sent = recorder.observer();
  sent(wire::Hello{}, 30);
  sent(wire::ContractOffer{}, 500);
  EXPECT_FALSE(std::filesystem::exists(file_));
  ASSERT_TRUE(recorder.open(file_));
  EXPECT_EQ(egress::verify(file_)->all, (egress::Totals{2, 530}));
  sent(wire::Manifest{}, 70);
  EXPECT_FALSE(egress::verify(file_)->closed);
  ASSERT_TRUE(recorder.close());
  const auto summary = egress::verify(file_).value();
  EXPECT_TRUE(summary.closed);
  EXPECT_EQ(summary.all, (egress::Totals{3, 600}));
  EXPECT_EQ(summary.by_type.begin()->first, "contract");
}

TEST_F(Recorder, WhatCannotBeRecordedIsNotSent) {
  EgressRecorder recorder;
  const auto sent = recorder.observer();
  ASSERT_TRUE(recorder.open(file_));
  ASSERT_TRUE(recorder.close());
  EXPECT_THROW(sent(wire::Manifest{}, 70), std::runtime_error);
}

TEST_F(Recorder, ARefusedRunLeavesNothing) {
  {
    EgressRecorder recorder;
    recorder.observer()(wire::Hello{}, 30);
    EXPECT_TRUE(recorder.close());
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

TEST_F(Recorder, ALogIsNeverWrittenOver) {
  ASSERT_TRUE(write_file_atomic(file_, as_byte_span("an older run's")));
  EgressRecorder recorder;
  EXPECT_FALSE(recorder.open(file_));
  EXPECT_EQ(read_text_file(file_), "an older run's");
}

}  // namespace
}  // namespace hairpin::train

// The encoder against a link that takes its time, that fails, and that is never reached.
#include "hairpin/pipeline/encoder.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <thread>

#include "hairpin/pipeline/codec.h"

namespace hairpin::pipeline {
namespace {

using testing::HasSubstr;

wire::TensorMessage message(std::uint32_t microbatch) {
  return {.codec = wire::Codec::int8, .microbatch = microbatch, .shape = {2, 5}};
}

// Keeps what is sent; the first message waits for `open`.
class Encoding : public testing::Test {
 protected:
  ~Encoding() override { open(); }
  void open() {
    if (!opened_.exchange(true)) gate_.count_down();
  }
  void make(MemoryMeter* meter = nullptr) {
    encoder_.emplace(
        [this](wire::TensorMessage sent) -> Result<void> {
          if (!reached_.try_wait()) reached_.count_down();
          gate_.wait();
          if (sent.microbatch == fails_at_) return fail(ErrorKind::link_lost, "cut");
          sent_.push_back(std::move(sent));
          return {};
        },
        [this](const Error& error) { failures_.push_back(error.message); }, meter);
  }

  std::uint32_t fails_at_ = 99;
  std::vector<wire::TensorMessage> sent_;  // read after a flush or the encoder's end
  std::vector<std::string> failures_;
  std::atomic<bool> opened_ = false;
  std::latch gate_{1}, reached_{1};
  std::optional<Encoder> encoder_;
};

TEST_F(Encoding, KeepsTheOrderAndNobodyWaitsButAFlush) {
  make();
  const Tensor values = at::randn({2, 5});
  for (std::uint32_t i = 0; i < 5; ++i) ASSERT_TRUE(encoder_->put(message(i), {values + i}));
  reached_.wait();  // the link takes its time, and all five were taken from us
  open();
  ASSERT_TRUE(encoder_->flush());
  ASSERT_EQ(sent_.size(), 5u);
  for (std::uint32_t i = 0; i < 5; ++i) {
    auto want = message(i);
    want.payload = encode(values + i, wire::Codec::int8);
    EXPECT_EQ(sent_[i], want);
  }
}

TEST_F(Encoding, AFlushWaitsForTheOneUnderWay) {
  make();
  ASSERT_TRUE(encoder_->put(message(0), {at::ones({2, 5})}));
  reached_.wait();  // it is no longer in the queue
  std::atomic<bool> opened = false;
  std::jthread later([&] {
    opened = true;
    open();
  });
  ASSERT_TRUE(encoder_->flush());
  EXPECT_TRUE(opened);  // the tensor can't have left before
  EXPECT_EQ(sent_.size(), 1u);
}

TEST_F(Encoding, LetsGoOfATensorBeforeItsMessageIsSent) {
  make();
  Tensor values = at::ones({2, 5});
  const c10::weak_intrusive_ptr<c10::TensorImpl> weak(values.getIntrusivePtr());
  ASSERT_TRUE(encoder_->put(message(0), {std::move(values)}));
  reached_.wait();
  EXPECT_TRUE(weak.expired());
}

TEST_F(Encoding, WhatHasToBeCopiedIsChargedToTheLink) {
  MemoryMeter meter;
  make(&meter);
  open();
  ASSERT_TRUE(encoder_->put(message(0), {at::ones({5, 2}).t()}));
  ASSERT_TRUE(encoder_->flush());
  EXPECT_EQ(meter.peak_of_each()[MemoryUse::link], 2 * 5 * 4);
  EXPECT_EQ(meter.current().total(), 0);
  encoder_.reset();  // before its meter
}

TEST_F(Encoding, AFailureOfTheLinkIsToldOnceAndEndsAll) {
  fails_at_ = 1;
  make();
  for (std::uint32_t i = 0; i < 4; ++i) ASSERT_TRUE(encoder_->put(message(i), {at::ones({2, 5})}));
  open();
  EXPECT_EQ(encoder_->flush().error().message, "cut");
  EXPECT_EQ(encoder_->put(message(9), {at::ones({2, 5})}).error().kind, ErrorKind::link_lost);
  encoder_.reset();
  EXPECT_EQ(sent_.size(), 1u);
  EXPECT_EQ(failures_, std::vector<std::string>{"cut"});
}

TEST_F(Encoding, ATensorThatCannotBeEncodedIsAFailure) {
  make();
  ASSERT_TRUE(encoder_->put(message(0), {at::ones({5})}));
  const auto error = encoder_->flush().error();
  EXPECT_EQ(error.kind, ErrorKind::internal);
  EXPECT_THAT(error.message, HasSubstr("microbatch 1, domain 0, boundary 0 could not be sent: "));
  encoder_.reset();
  EXPECT_EQ(failures_.size(), 1u);
}

TEST_F(Encoding, SoIsALinkThatThrows) {
  Encoder encoder([](const wire::TensorMessage&) -> Result<void> { throw std::bad_alloc(); },
                  [this](const Error& error) { failures_.push_back(error.message); }, nullptr);
  ASSERT_TRUE(encoder.put(message(3), {at::ones({2, 5})}));
  EXPECT_EQ(encoder.flush().error().message,
            "the activation of step 1, microbatch 4, domain 0, boundary 0 could not be sent: "
            "std::bad_alloc");
}

TEST_F(Encoding, AfterAFailureElsewhereWhatWaitsIsDropped) {
  make();
  for (std::uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(encoder_->put(message(i), {at::ones({2, 5})}));
  reached_.wait();
  encoder_->fail({ErrorKind::peer, "enough"});
  encoder_->fail({ErrorKind::peer, "too late"});
  open();
  EXPECT_EQ(encoder_->flush().error().message, "enough");
  EXPECT_EQ(encoder_->put(message(9), {at::ones({2, 5})}).error().message, "enough");
  encoder_.reset();
  EXPECT_EQ(sent_.size(), 1u);
  EXPECT_TRUE(failures_.empty());
}

TEST_F(Encoding, EndsWithTensorsWaiting) {
  make();
  for (std::uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(encoder_->put(message(i), {at::ones({2, 5})}));
  reached_.wait();
  encoder_->fail({ErrorKind::link_lost, "over"});
  open();
  encoder_.reset();
  EXPECT_EQ(sent_.size(), 1u);  // the one under way
}

}  // namespace
}  // namespace hairpin::pipeline

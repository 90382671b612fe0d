// Both sites' agreements over a link in memory; all times are given.
#include "hairpin/train/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hairpin/link/memory_link.h"
#include "hairpin/schedule/fingerprint.h"

namespace hairpin::train {
namespace {

using testing::HasSubstr;
using SchedulePointer = std::shared_ptr<const schedule::Schedule>;

constexpr std::int64_t kTokens = 100;

Setup setup_of(Part part, const std::string& kind) {
  Setup setup;
  setup.part = part;
  setup.job.split = config::Split{.layers = {1, 1, 1, 1}};
  setup.job.schedule.kind = kind;
  setup.job.train.microbatches = 8;
  setup.stages.resize(4);
  setup.model.architecture.hidden_size = 64;
  setup.schedule = schedule::generate(kind, setup.schedule_options()).value();
  return setup;
}

class Agreements : public testing::Test {
 protected:
  explicit Agreements(const std::string& kind = "hairpin-adaptive")
      : edge_setup_(setup_of(Part::edge, kind)), cloud_setup_(setup_of(Part::cloud, kind)) {}

  static Agreement::Observer note(std::vector<schedule::Agreed>& into) {
    return [&into](std::int64_t, const schedule::Agreed& agreed) {
      into.push_back(agreed);
      return Result<void>();
    };
  }
  void tell(std::int64_t step) {
    ASSERT_TRUE(edge_.tell(step, {{0, 1000, 2000, 0}, {3, 1000, 2000, 0}}, kTokens));
    ASSERT_TRUE(cloud_.tell(step, {{1, cloud_forward_, 2 * cloud_forward_, 0}, {2, 2000, 4000, 0}},
                            kTokens));
  }
  // A step: what the edge runs next, which must be what the cloud runs.
  SchedulePointer step(std::int64_t index) {
    tell(index);
    const auto edge = edge_.hear(index), cloud = cloud_.hear(index);
    EXPECT_TRUE(edge && cloud);
    EXPECT_EQ(*edge == nullptr, *cloud == nullptr);
    if (*edge != nullptr) {
      EXPECT_EQ(**edge, **cloud);
    }
    return *edge;
  }
  // The edge's refusal of these times.
  std::string refusal_of(wire::StepTimes times) {
    link::MemoryPair pair = link::make_memory_pair();
    pipeline::Mailbox mailbox;
    pipeline::LinkSession session(*pair.edge, mailbox, {});
    Agreement edge(edge_setup_, session, note(at_edge_));
    EXPECT_TRUE(pair.cloud->send(std::move(times)));
    const auto heard = edge.hear(4);
    EXPECT_FALSE(heard);
    EXPECT_EQ(heard.error().kind, ErrorKind::peer);
    return heard.error().message;
  }

  link::MemoryPair pair_ = link::make_memory_pair(
      {.delay_up = std::chrono::microseconds(300), .delay_down = std::chrono::microseconds(500)});
  pipeline::Mailbox edge_mailbox_, cloud_mailbox_;
  pipeline::LinkSession edge_session_{*pair_.edge, edge_mailbox_, {.role = wire::Role::edge}};
  pipeline::LinkSession cloud_session_{*pair_.cloud, cloud_mailbox_, {.role = wire::Role::cloud}};
  train::Setup edge_setup_, cloud_setup_;  // gtest has a Setup of its own
  std::vector<schedule::Agreed> at_edge_, at_cloud_;
  Agreement edge_{edge_setup_, edge_session_, note(at_edge_)};
  Agreement cloud_{cloud_setup_, cloud_session_, note(at_cloud_)};
  std::uint32_t cloud_forward_ = 2000;
};

TEST_F(Agreements, BothSitesMeasureChooseAndChooseAgain) {
  EXPECT_EQ(step(0), nullptr);
  step(1);
  ASSERT_EQ(at_edge_.size(), 1u);
  cloud_forward_ = 9000;
  for (int i = 2; i < 5; ++i) step(i);
  ASSERT_EQ(at_edge_.size(), 2u);
  EXPECT_EQ(at_edge_[1].reason, "cloud 1's time for a microbatch went from 6.0 to 27.0 ms");
  ASSERT_EQ(at_cloud_.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(at_edge_[i].times, at_cloud_[i].times);
    EXPECT_EQ(at_edge_[i].reason, at_cloud_[i].reason);
    EXPECT_EQ(*at_edge_[i].schedule, *at_cloud_[i].schedule);
  }
  const auto& times = at_edge_[1].times;
  EXPECT_EQ(times.forward, (std::vector<std::int64_t>{1000, 9000, 2000, 1000}));
  EXPECT_EQ(times.backward, (std::vector<std::int64_t>{2000, 18000, 4000, 2000}));
  EXPECT_TRUE(times.backward_weight.empty());
  EXPECT_EQ(times.latency, 400);
  EXPECT_EQ(edge_.record().schedule, *at_edge_[1].schedule);
  EXPECT_EQ(edge_.record().times->forward[1], 9000);
}

// A link whose two ends have seen different things.
class SeenLink : public link::Link {
 public:
  SeenLink(link::Link& link, link::LinkEstimate seen) : link_(link), seen_(seen) {}
  Result<void> send(wire::Message message) override { return link_.send(std::move(message)); }
  Result<wire::Message> receive() override { return link_.receive(); }
  void fail(Error reason) override { link_.fail(std::move(reason)); }
  Result<void> flush() override { return link_.flush(); }
  void set_max_frame_bytes(std::uint64_t bytes) override { link_.set_max_frame_bytes(bytes); }
  link::Traffic sent() const override { return link_.sent(); }
  link::Traffic received() const override { return link_.received(); }
  void watch(link::FrameObserver observer) override { link_.watch(std::move(observer)); }
  link::LinkEstimate estimate() const override { return seen_; }

 private:
  link::Link& link_;
  const link::LinkEstimate seen_;
};

// Of a direction the receiver's bandwidth counts, of latencies the lesser; each kind and direction
// has its codec. 13 tokens of 64 elements: 3328 bytes in fp32, 858 in int8, and 100 of frames.
TEST_F(Agreements, BothSitesComputeTheSameTransfers) {
  for (auto* setup : {&edge_setup_, &cloud_setup_})
    setup->job.link = {.codec_activation_up = "int8", .codec_gradient_down = "int8"};
  const link::MemoryPair pair = link::make_memory_pair();
  SeenLink at_edge(*pair.edge, {.min_rtt_seconds = 0.008,
                                .rtt_samples = 3,
                                .up_bytes_per_second = 1,
                                .down_bytes_per_second = 1e6,
                                .up_samples = 1,
                                .down_samples = 1});
  SeenLink at_cloud(*pair.cloud, {.min_rtt_seconds = 0.006,
                                  .rtt_samples = 3,
                                  .up_bytes_per_second = 2e6,
                                  .down_bytes_per_second = 2,
                                  .up_samples = 1,
                                  .down_samples = 1});
  pipeline::Mailbox edge_mailbox, cloud_mailbox;
  pipeline::LinkSession edge_session(at_edge, edge_mailbox, {.role = wire::Role::edge});
  pipeline::LinkSession cloud_session(at_cloud, cloud_mailbox, {.role = wire::Role::cloud});
  Agreement edge(edge_setup_, edge_session, note(at_edge_));
  Agreement cloud(cloud_setup_, cloud_session, note(at_cloud_));
  ASSERT_TRUE(edge.tell(0, {{0, 1000, 2000, 0}, {3, 1000, 2000, 0}}, kTokens));
  ASSERT_TRUE(cloud.tell(0, {{1, 2000, 4000, 0}, {2, 2000, 4000, 0}}, kTokens));
  ASSERT_TRUE(edge.hear(0) && cloud.hear(0));
  const auto times = edge.record().times.value();
  EXPECT_EQ(times, cloud.record().times);
  EXPECT_EQ(times.latency, 3000);
  EXPECT_EQ(times.up, (schedule::TransferTimes{479, 1714}));
  EXPECT_EQ(times.down, (schedule::TransferTimes{3428, 958}));
}

TEST_F(Agreements, WhatThePeerMayNotSay) {
  const auto own = schedule::fingerprint(edge_setup_.schedule);
  const std::vector<wire::StageTime> stages = {{1, 5, 6, 0}, {2, 5, 6, 0}};
  EXPECT_THAT(refusal_of({.step = 3, .schedule = own, .stages = stages}), HasSubstr("of step 3"));
  EXPECT_THAT(refusal_of({.step = 4, .schedule = own + 1, .stages = stages}),
              HasSubstr("in another order"));
  EXPECT_THAT(refusal_of({.step = 4, .schedule = own}), HasSubstr("not its own"));
  EXPECT_THAT(refusal_of({.step = 4, .schedule = own, .stages = {{0, 5, 6, 0}, {3, 5, 6, 0}}}),
              HasSubstr("not its own"));
  EXPECT_THAT(refusal_of({.step = 4, .schedule = own, .stages = {{2, 5, 6, 0}, {1, 5, 6, 0}}}),
              HasSubstr("not its own"));
  EXPECT_THAT(
      refusal_of({.step = 4, .schedule = own, .stages = {{1, 1'000'000'001, 6, 0}, stages[1]}}),
      HasSubstr("can't be"));
  EXPECT_THAT(refusal_of({.step = 4, .schedule = own, .stages = {{1, 5, 6, 7}, stages[1]}}),
              HasSubstr("can't be"));
  EXPECT_THAT(refusal_of({.step = 4, .schedule = own, .latency = 1'000'000'001, .stages = stages}),
              HasSubstr("latency"));
}

TEST_F(Agreements, AnObserversFailureIsTheStepsEnd) {
  Agreement edge(edge_setup_, edge_session_, [](std::int64_t, const schedule::Agreed&) {
    return Result<void>(fail(ErrorKind::internal, "the disk is full"));
  });
  for (std::int64_t i = 0; i < 2; ++i) {
    tell(i);
    const auto heard = edge.hear(i);
    EXPECT_EQ(heard.has_value(), i == 0);
  }
}

class PinnedAgreements : public Agreements {
 protected:
  PinnedAgreements() : Agreements("hairpin-1f1b") {}
};

TEST_F(PinnedAgreements, OnlyMeasure) {
  for (std::int64_t i = 0; i < 5; ++i) {
    cloud_forward_ += 4000;
    EXPECT_EQ(step(i), nullptr);
  }
  EXPECT_TRUE(at_edge_.empty());
  EXPECT_EQ(edge_.record().times->forward[1], 18000);  // the median of the last three
}

}  // namespace
}  // namespace hairpin::train

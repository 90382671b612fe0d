// A session against a peer that follows the protocol, and against peers that don't: each breach is
// one error of kind peer, heard by everything that waits here, and told to the peer.
#include "hairpin/pipeline/link_session.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hairpin/collective/local.h"
#include "hairpin/link/memory_link.h"
#include "hairpin/pipeline/codec.h"
#include "hairpin/pipeline/link_channel.h"
#include "hairpin/wire/tensor_size.h"

namespace hairpin::pipeline {
namespace {

using testing::HasSubstr;
using wire::TensorKind;

constexpr std::uint32_t kHidden = 4, kMaxTokens = 8;

wire::TensorMessage tensor(std::uint32_t microbatch, std::uint32_t tokens = 3) {
  return {.kind = TensorKind::activation,
          .boundary = 1,
          .microbatch = microbatch,
          .shape = {tokens, kHidden},
          .payload = Bytes(tokens * kHidden * 4)};
}

class Session : public testing::Test {
 protected:
  explicit Session(wire::Role role = wire::Role::edge, int scattered_over = 1) {
    auto pair = link::make_memory_pair();
    own_ = role == wire::Role::edge ? std::move(pair.edge) : std::move(pair.cloud);
    peer_ = role == wire::Role::edge ? std::move(pair.cloud) : std::move(pair.edge);
    session_.emplace(
        *own_, mailbox_,
        SessionOptions{.role = role,
                       .expected = {{TensorKind::activation, 1}, {TensorKind::gradient, 0}},
                       .domains = 2,
                       .microbatches = 8,
                       .hidden = kHidden,
                       .max_tokens = kMaxTokens,
                       .tensor_parallel = scattered_over,
                       .sequence_parallel = true,
                       .max_waiting = 3,
                       .meter = &meter_});
  }

  // The messages are one too many, or wrong: all that waits ends with the error.
  void expect_refused(const std::vector<wire::Message>& messages, const std::string& sentence) {
    Error take, manifest, control;
    {
      const Tag never{TensorKind::gradient, 0, 0, 99, 0};
      std::jthread taker([&] { take = mailbox_.take(never).error(); });
      std::jthread reader([&] { manifest = drained(&LinkSession::next_manifest); });
      for (const auto& message : messages) ASSERT_TRUE(peer_->send(message));
      taker.join();
      control = drained(&LinkSession::next_control);
    }
    for (const auto& error : {take, manifest, control, drained(&LinkSession::next_scalars)}) {
      EXPECT_EQ(error.kind, ErrorKind::peer);
      EXPECT_THAT(error.message, HasSubstr(sentence));
    }
    const auto told = peer_->receive();
    ASSERT_FALSE(told);
    EXPECT_EQ(told.error().kind, ErrorKind::peer);
    EXPECT_THAT(told.error().message, HasSubstr(sentence));
    EXPECT_FALSE(session_->send(wire::StepScalars{}));
  }

  template <class T>
  Error drained(Result<T> (LinkSession::*next)()) {
    for (;;)
      if (auto got = ((*session_).*next)(); !got) return got.error();
  }

  // Of tensors for the link, when the receiver has done with all that was sent so far.
  std::int64_t charged() {
    EXPECT_TRUE(peer_->send(wire::StepScalars{}));
    EXPECT_TRUE(session_->next_scalars());
    return meter_.current()[MemoryUse::link];
  }

  MemoryMeter meter_;
  Mailbox mailbox_;
  std::unique_ptr<link::Link> own_, peer_;
  std::optional<LinkSession> session_;
};

class CloudSession : public Session {
 protected:
  CloudSession() : Session(wire::Role::cloud) {}
};

TEST_F(Session, SortsWhatArrivesToWhereItIsWaitedFor) {
  auto message = tensor(2);
  message.step = 5;
  const Tensor values = at::randn({3, kHidden});
  message.payload = encode(values, wire::Codec::fp32);
  ASSERT_TRUE(peer_->send(wire::StepScalars{.step = 5}));
  ASSERT_TRUE(peer_->send(wire::WeightsManifest{}));
  ASSERT_TRUE(peer_->send(message));
  EXPECT_TRUE(mailbox_.take({TensorKind::activation, 1, 0, 5, 2})->equal(values));
  EXPECT_TRUE(std::holds_alternative<wire::WeightsManifest>(session_->next_control().value()));
  EXPECT_EQ(session_->next_scalars()->step, 5u);
}

TEST_F(Session, AChannelSendsATensorAsItsMessage) {
  RowGather gather(1);
  LinkChannel channel(*session_, mailbox_, {}, gather);
  const Tensor values = at::randn({3, kHidden});
  ASSERT_TRUE(channel.send({TensorKind::gradient, 1, 2, 3, 4}, values));
  const auto sent = std::get<wire::TensorMessage>(peer_->receive().value());
  const wire::TensorMessage want{.kind = TensorKind::gradient,
                                 .boundary = 1,
                                 .domain = 2,
                                 .step = 3,
                                 .microbatch = 4,
                                 .shape = {3, kHidden},
                                 .payload = encode(values, wire::Codec::fp32)};
  EXPECT_EQ(sent, want);
}

TEST_F(Session, WhatArrivesIsChargedToTheLinkUntilItIsUsed) {
  ASSERT_TRUE(peer_->send(tensor(0, 3)));
  ASSERT_TRUE(peer_->send(tensor(1, 5)));
  EXPECT_EQ(charged(), 8 * kHidden * 4);
  EXPECT_EQ(meter_.current().total(), charged());
  EXPECT_TRUE(mailbox_.take({TensorKind::activation, 1, 0, 0, 0}));
  EXPECT_EQ(charged(), 5 * kHidden * 4);
}

class ScatteredSession : public Session {
 protected:
  ScatteredSession() : Session(wire::Role::edge, 3) {}
};

TEST_F(ScatteredSession, SharesOfRowsAreChargedToTheLinkAndTheWholeIsLetGo) {
  ASSERT_TRUE(peer_->send(tensor(0, 7)));
  EXPECT_EQ(charged(), 7 * kHidden * 4);
  EXPECT_EQ(meter_.peak_of_each()[MemoryUse::link], 2 * 7 * kHidden * 4);
  for (int tp = 0; tp < 3; ++tp)
    EXPECT_EQ(mailbox_.take({TensorKind::activation, 1, 0, 0, 0, tp})->size(0), tp == 0 ? 3 : 2);
  EXPECT_EQ(charged(), 0);
}

TEST_F(ScatteredSession, SharesAreSentAsOneTensorAndNeverPutTogether) {
  collective::LocalWorld world;
  const auto groups = world.make_group(3, "tp");
  RowGather gather(3);
  for (const auto& group : groups) {
    LinkChannel channel(*session_, mailbox_, {.group = group.get(), .sequence = true}, gather);
    ASSERT_TRUE(channel.send({TensorKind::gradient, 1, 0, 0, 0}, at::ones({2, kHidden})));
  }
  const auto sent = std::get<wire::TensorMessage>(peer_->receive().value());
  EXPECT_EQ(sent.payload, encode(at::ones({6, kHidden}), wire::Codec::fp32));
  EXPECT_EQ(sent.shape, (std::array<std::uint32_t, 2>{6, kHidden}));
  EXPECT_EQ(meter_.peak_of_each()[MemoryUse::link], 0);
}

// What is long in encoding is not overtaken by what has only to be sent.
TEST_F(Session, BulkLeavesAfterTheTensorsThatWereSentBeforeIt) {
  peer_->set_max_frame_bytes(17'000'000);
  ASSERT_TRUE(session_->send_tensor({TensorKind::gradient, 1}, {at::ones({4000, 1000})}));
  ASSERT_TRUE(session_->send(wire::Goodbye{}));
  EXPECT_TRUE(std::holds_alternative<wire::TensorMessage>(peer_->receive().value()));
  EXPECT_TRUE(std::holds_alternative<wire::Goodbye>(peer_->receive().value()));
}

TEST_F(Session, AFlushWaitsForTensors) {
  peer_->set_max_frame_bytes(17'000'000);
  ASSERT_TRUE(session_->send_tensor({TensorKind::gradient, 1}, {at::ones({4000, 1000})}));
  ASSERT_TRUE(session_->flush());
  EXPECT_EQ(own_->sent().messages, 1u);
}

TEST_F(Session, ATensorThatCannotBeEncodedEndsAll) {
  ASSERT_TRUE(session_->send_tensor({TensorKind::gradient, 1}, {at::ones({2, 4}), at::ones({4})}));
  const auto error = mailbox_.take({}).error();
  EXPECT_EQ(error.kind, ErrorKind::internal);
  EXPECT_THAT(
      error.message,
      HasSubstr("the gradient of step 1, microbatch 1, domain 0, boundary 1 could not be sent: "));
  EXPECT_FALSE(session_->send_tensor({TensorKind::gradient, 1}, {at::ones({2, 4})}));
  EXPECT_THAT(peer_->receive().error().message, HasSubstr("refused"));
}

// Every kind and direction has its own; what the peer sends is held to that.
class Codecs : public testing::Test {
 protected:
  static constexpr codec::Choice kCodecs{.activation_up = wire::Codec::int4,
                                         .gradient_up = wire::Codec::int8,
                                         .activation_down = wire::Codec::bf16,
                                         .gradient_down = wire::Codec::fp32};
  static SessionOptions options(wire::Role role) {
    return {.role = role,
            .codecs = kCodecs,
            .expected = {{TensorKind::activation, 1}, {TensorKind::gradient, 1}},
            .microbatches = 8,
            .hidden = kHidden,
            .max_tokens = kMaxTokens,
            .max_waiting = 4};
  }
  link::MemoryPair pair_ = link::make_memory_pair();
  Mailbox at_edge_, at_cloud_;
};

TEST_F(Codecs, TensorsCrossInTheOneOfTheirKindAndDirection) {
  LinkSession edge(*pair_.edge, at_edge_, options(wire::Role::edge));
  LinkSession cloud(*pair_.cloud, at_cloud_, options(wire::Role::cloud));
  const Tensor values = at::randn({3, kHidden});
  const auto in_codec = [&](wire::Codec codec) {
    return decode(encode(values, codec), codec, 3, kHidden).value();
  };
  for (const auto kind : {TensorKind::activation, TensorKind::gradient}) {
    const Tag tag{kind, 1};
    ASSERT_TRUE(edge.send_tensor(tag, {values}));
    EXPECT_TRUE(at_cloud_.take(tag).value().equal(in_codec(kCodecs.of(kind, wire::Role::edge))));
    ASSERT_TRUE(cloud.send_tensor(tag, {values}));
    EXPECT_TRUE(at_edge_.take(tag).value().equal(in_codec(kCodecs.of(kind, wire::Role::cloud))));
  }
}

TEST_F(Codecs, TheOneOfAnotherKindOrDirectionIsRefused) {
  LinkSession edge(*pair_.edge, at_edge_, options(wire::Role::edge));
  auto message = tensor(2);
  message.step = 6;
  message.codec = kCodecs.activation_up;
  message.payload.resize(3 * wire::row_bytes(message.codec, kHidden));
  ASSERT_TRUE(pair_.cloud->send(message));
  EXPECT_EQ(at_edge_.take({}).error().message,
            "the peer sent the activation of step 7, microbatch 3, domain 0, boundary 1 of F32 in "
            "int4, the contract says F32 in bf16");
}

TEST_F(Session, ScalarsThatCameBeforeThePeerGaveUpAreStillThere) {
  ASSERT_TRUE(peer_->send(wire::StepScalars{.step = 4}));
  ASSERT_TRUE(peer_->flush());
  peer_->fail({ErrorKind::peer, "enough"});
  ASSERT_FALSE(mailbox_.take({TensorKind::activation, 1, 0, 0, 0}));  // the end has come
  const auto scalars = session_->next_scalars();
  ASSERT_TRUE(scalars) << scalars.error().message;
  EXPECT_EQ(scalars->step, 4u);
  const auto after = session_->next_scalars();
  ASSERT_FALSE(after);
  EXPECT_THAT(after.error().message, HasSubstr("the cloud refused: enough"));
}

TEST_F(Session, AMicrobatchThatTheJobDoesNotHave) {
  expect_refused({tensor(8)}, "this job has 8 microbatches");
}

TEST_F(Session, ADomainThatTheJobDoesNotHave) {
  auto message = tensor(0);
  message.domain = 2;
  expect_refused({message}, "and 2 domains");
}

TEST_F(Session, AnotherLogicalDtype) {
  auto message = tensor(0);
  message.dtype = DType::bf16;
  expect_refused({message}, "of BF16 in fp32");
}

TEST_F(Session, ATensorThatDoesNotGoThatWay) {
  auto boundary = tensor(0);
  boundary.boundary = 0;
  expect_refused({boundary}, "doesn't go that way");
}

TEST_F(Session, ATensorOfTheOtherKind) {
  auto kind = tensor(0);
  kind.kind = TensorKind::gradient;
  expect_refused({kind}, "doesn't go that way");
}

TEST_F(Session, ATensorInAnotherCodec) {
  auto codec = tensor(0);
  codec.codec = wire::Codec::bf16;
  codec.payload.resize(3 * kHidden * 2);
  expect_refused({codec}, "of F32 in bf16, the contract says F32 in fp32");
}

TEST_F(Session, ATensorOfAnotherWidth) {
  auto wide = tensor(0);
  wide.shape = {3, 5};
  wide.payload.resize(3 * 5 * 4);
  expect_refused({wide}, "a tensor of 3 x 5");
}

TEST_F(Session, ATensorOfTooManyTokens) {
  expect_refused({tensor(0, kMaxTokens), tensor(1, kMaxTokens + 1)}, "a tensor of 9 x 4");
}

TEST_F(Session, ATensorTwice) { expect_refused({tensor(0), tensor(0)}, "twice"); }

TEST_F(Session, MoreTensorsThanCanBeInFlight) {
  expect_refused({tensor(0), tensor(1), tensor(2), tensor(3)}, "more tensors than the schedule");
}

TEST_F(Session, ScalarsStepsAhead) {
  expect_refused({wire::StepScalars{}, wire::StepScalars{}, wire::StepScalars{}}, "steps ahead");
}

TEST_F(CloudSession, ManifestsStepsAhead) {
  EXPECT_TRUE(peer_->send(wire::Manifest{.step = 3}));
  EXPECT_EQ(session_->next_manifest()->step, 3u);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(peer_->send(wire::Manifest{}));
  EXPECT_THAT(mailbox_.take({}).error().message, HasSubstr("steps ahead"));
}

TEST_F(Session, AManifestForTheEdge) { expect_refused({wire::Manifest{}}, "manifest message"); }
TEST_F(Session, ARequestForTheEdgesWeights) {
  expect_refused({wire::WeightsRequest{}}, "which the edge doesn't take");
}
TEST_F(Session, ASecondHello) { expect_refused({wire::Hello{}}, "hello message"); }
TEST_F(Session, ASecondContract) { expect_refused({wire::ContractOffer{}}, "doesn't take"); }
TEST_F(CloudSession, WeightsForTheCloud) {
  expect_refused({wire::WeightsManifest{}}, "which the cloud doesn't take");
}
TEST_F(CloudSession, PiecesOfWeightsForTheCloud) {
  expect_refused({wire::WeightsChunk{0, 0, Bytes(4)}}, "which the cloud doesn't take");
}

// The peer is gone by its own will: nothing to tell it, but nobody may wait for it either.
TEST_F(Session, AGoodbyeThatComesTooEarlyWakesAll) {
  Error take, scalars;
  {
    std::jthread taker([&] { take = mailbox_.take({}).error(); });
    std::jthread reader([&] { scalars = drained(&LinkSession::next_scalars); });
    ASSERT_TRUE(peer_->send(wire::Goodbye{}));
  }
  EXPECT_TRUE(std::holds_alternative<wire::Goodbye>(session_->next_control().value()));
  for (const auto& error : {take, scalars, drained(&LinkSession::next_control)}) {
    EXPECT_EQ(error.kind, ErrorKind::peer);
    EXPECT_THAT(error.message, HasSubstr("ended the run before this side did"));
  }
}

TEST_F(Session, AFailureOfThisSideIsTheOneThatAllHearOf) {
  session_->fail({ErrorKind::peer, "the first reason"});
  session_->fail({ErrorKind::peer, "a later reason"});
  EXPECT_EQ(mailbox_.take({}).error().message, "the first reason");
  EXPECT_EQ(drained(&LinkSession::next_control).message, "the first reason");
  EXPECT_THAT(peer_->receive().error().message, HasSubstr("the first reason"));
}

TEST_F(Session, APeerThatDiesEndsAll) {
  peer_.reset();
  EXPECT_EQ(mailbox_.take({}).error().kind, ErrorKind::link_lost);
  EXPECT_EQ(drained(&LinkSession::next_scalars).kind, ErrorKind::link_lost);
}

TEST_F(Session, DestroyedWithoutAGoodbyeItTellsThePeer) {
  session_.reset();
  EXPECT_EQ(peer_->receive().error().kind, ErrorKind::peer);
}

// Weights not taken yet are bounded: the ninth piece waits outside until one is.
TEST_F(Session, WhoeverTakesWeightsPacesThePeer) {
  ASSERT_TRUE(session_->send(wire::WeightsRequest{}));
  for (std::uint32_t i = 0; i < 50; ++i)
    ASSERT_TRUE(peer_->send(wire::WeightsChunk{i, 0, Bytes(4)}));
  for (std::uint32_t i = 0; i < 50; ++i)
    EXPECT_EQ(std::get<wire::WeightsChunk>(session_->next_control().value()).entry, i);
}

// While training nobody takes them, so waiting would be for ever.
TEST_F(Session, WeightsThatNobodyAskedForDoNotPileUp) {
  for (std::uint32_t i = 0; i < 9; ++i)
    ASSERT_TRUE(peer_->send(wire::WeightsChunk{i, 0, Bytes(4)}));
  EXPECT_THAT(mailbox_.take({}).error().message, HasSubstr("more about weights than"));
}

}  // namespace
}  // namespace hairpin::pipeline

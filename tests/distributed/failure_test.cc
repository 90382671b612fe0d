// A rank that throws ends all ranks of its site and the other site, at once and with the first
// cause: which rank, in which op, why. The peer's user is told that there was an error, not what it
// says: that may speak of samples.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <stdexcept>

#include "hairpin/hf/tiny_model.h"
#include "hairpin/train/site.h"
#include "tests/fixture/runs.h"
#include "tests/fixture/sites.h"

namespace hairpin {
namespace {

using testing::MatchesRegex;

constexpr std::int32_t kNoWord = 90210;  // outside the vocabulary
constexpr auto kSoon = std::chrono::seconds(10);

// A link whose end throws on the session's thread that sends the first tensor it is told to look
// for.
class ThrowingLink : public link::Link {
 public:
  using Wanted = std::function<bool(const wire::TensorMessage&)>;
  ThrowingLink(std::unique_ptr<link::Link> inner, Wanted wanted)
      : inner_(std::move(inner)), wanted_(std::move(wanted)) {}

  Result<void> send(wire::Message message) override {
    const auto* tensor = std::get_if<wire::TensorMessage>(&message);
    if (tensor != nullptr && wanted_(*tensor)) throw std::runtime_error("out of luck");
    return inner_->send(std::move(message));
  }
  Result<wire::Message> receive() override { return inner_->receive(); }
  void fail(Error reason) override { inner_->fail(std::move(reason)); }
  Result<void> flush() override { return inner_->flush(); }
  void set_max_frame_bytes(std::uint64_t bytes) override { inner_->set_max_frame_bytes(bytes); }
  link::Traffic sent() const override { return inner_->sent(); }
  link::Traffic received() const override { return inner_->received(); }
  link::LinkEstimate estimate() const override { return inner_->estimate(); }

 private:
  std::unique_ptr<link::Link> inner_;
  Wanted wanted_;
};

// 4 microbatches a step and domain.
class Failure : public testing::Test {
 protected:
  Failure() {
    EXPECT_TRUE(hf::write_tiny_model(directory_ / "model",
                                     {.hidden = 64, .intermediate = 144, .heads = 8}));
    job_.train.microbatches = 4;
    job_.data.packing = job_.data.shuffle = false;  // each sample is a microbatch
  }
  ~Failure() override {
    EXPECT_LT(std::chrono::steady_clock::now() - begin_, kSoon);  // all threads are joined
  }

  TemporaryDirectory directory_;
  config::Job job_ = tiny_job(directory_ / "model", directory_ / "run");
  samples::Dataset dataset_ = random_dataset(60, 20, 331, 3);
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

void expect_error(const Result<void>& result, ErrorKind kind, const std::string& pattern) {
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, kind);
  EXPECT_THAT(result.error().message, MatchesRegex(pattern));
}

// Serves other steps' samples, with something changed in a microbatch of step 2.
class SpoiledSteps : public train::StepSource {
 public:
  using Spoil = std::function<void(models::MicrobatchInput&)>;
  SpoiledSteps(train::StepSource& inner, std::size_t index, Spoil spoil)
      : inner_(inner), index_(index), spoil_(std::move(spoil)) {}
  Result<train::Step> next(std::int64_t step) override {
    auto served = inner_.next(step);
    if (served && step == 1) {
      auto changed = std::make_shared<models::MicrobatchInput>(*served->inputs.at(index_));
      spoil_(*changed);
      served->inputs[index_] = std::move(changed);
    }
    return served;
  }

 private:
  train::StepSource& inner_;
  std::size_t index_;
  Spoil spoil_;
};

class OneSite : public Failure {
 protected:
  Result<void> run(std::size_t index, SpoiledSteps::Spoil spoil) {
    job_.site = dp(2, pp({3, 3}, tp(2)));
    job_.schedule.kind = "1f1b";
    const auto setup = train::prepare(job_, train::Part::whole).value();
    train::SampleSteps samples(setup, dataset_, nullptr);
    SpoiledSteps source(samples, index, std::move(spoil));
    pipeline::Mailbox mailbox;
    std::vector<MemoryMeter> meters(static_cast<std::size_t>(setup.mesh().num_ranks()));
    train::Site site(setup, &source, mailbox, nullptr, nullptr, meters);
    return site.run([&](const metrics::StepRecord& record) {
      EXPECT_EQ(record.step, 1);
      return Result<void>();
    });
  }
};

// Both tensor-parallel ranks of the stage look at the token, and either may be first.
TEST_F(OneSite, EndsWithTheRankAndTheOpOfItsFirstStage) {
  const auto end = run(5, [](auto& microbatch) { microbatch.tokens[0] = kNoWord; });
  expect_error(end, ErrorKind::internal, "site rank pp 0, dp 1, tp [01]: step 2, F3.1: .*90210.*");
}

TEST_F(OneSite, EndsWithTheRankAndTheOpOfItsLastStage) {
  const auto end = run(2, [](auto& microbatch) { microbatch.targets[0] = kNoWord; });
  expect_error(end, ErrorKind::internal, "site rank pp 1, dp 0, tp [01]: step 2, F2.0: .*90210.*");
}

class Split : public Failure {
 protected:
  Split() { set_split(job_, {2, 1, 1, 2}, tp(2), dp(2, tp(2))); }

  SplitEnd run(ThrowingLink::Wanted edge, ThrowingLink::Wanted cloud) {
    auto pair = memory_pair();
    return try_split(job_, dataset_,
                     {std::make_unique<ThrowingLink>(std::move(pair.edge), std::move(edge)),
                      std::make_unique<ThrowingLink>(std::move(pair.cloud), std::move(cloud))});
  }
};

constexpr const char* kEdgeStopped =
    "the edge refused: the edge stopped because of an error of its own; its log says which";
constexpr const char* kCloudStopped =
    "the cloud refused: the cloud stopped because of an error of its own; its log says which";

bool never(const wire::TensorMessage&) { return false; }

TEST_F(Split, OfTheEdgeEndsTheCloudWhichLearnsNothingOfTheSample) {
  dataset_.samples[8 + 5].tokens[0] = kNoWord;  // step 2, microbatch 3 of domain 1
  const auto end = try_split(job_, dataset_, memory_pair());
  expect_error(end.edge, ErrorKind::internal,
               "edge rank pp 0, dp 0, tp [01]: step 2, FS3.1: .*90210.*");
  expect_error(end.cloud, ErrorKind::peer, kEdgeStopped);
}

TEST_F(Split, OfTheCloudsSendingEndsTheEdge) {
  const auto end = run(never, [](const wire::TensorMessage& tensor) {
    return tensor.kind == wire::TensorKind::activation && tensor.step == 1 && tensor.domain == 1 &&
           tensor.microbatch == 2;
  });
  expect_error(end.cloud, ErrorKind::internal,
               "the activation of step 2, microbatch 3, domain 1, boundary 2 could not be "
               "sent: out of luck");
  expect_error(end.edge, ErrorKind::peer, kCloudStopped);
}

// The ranks whose rows it is have gone on.
TEST_F(Split, OfSendingASequenceParallelTensorEndsBothSites) {
  job_.edge.sequence_parallel = job_.cloud.sequence_parallel = true;
  const auto end = run(
      [](const wire::TensorMessage& tensor) {
        return tensor.kind == wire::TensorKind::gradient && tensor.step == 1 &&
               tensor.domain == 0 && tensor.microbatch == 1;
      },
      never);
  expect_error(end.edge, ErrorKind::internal,
               "the gradient of step 2, microbatch 2, domain 0, boundary 2 could not be "
               "sent: out of luck");
  expect_error(end.cloud, ErrorKind::peer, kEdgeStopped);
}

}  // namespace
}  // namespace hairpin

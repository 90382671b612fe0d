// Mailboxes, and the codecs of what goes through them.
#include "hairpin/pipeline/mailbox.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <bit>
#include <thread>

#include "hairpin/pipeline/channel.h"
#include "hairpin/pipeline/codec.h"
#include "hairpin/tensor/convert.h"

namespace hairpin::pipeline {
namespace {

const Tag kTag{wire::TensorKind::gradient, 1, 0, 3, 2};

TEST(Mailbox, ATensorIsFoundByAllOfItsTag) {
  Mailbox mailbox;
  std::vector<Tag> tags(6, kTag);
  tags[1].kind = wire::TensorKind::activation;
  ++tags[2].boundary;
  ++tags[3].domain;
  ++tags[4].step;
  ++tags[5].microbatch;
  for (std::size_t i = 0; i < tags.size(); ++i)
    ASSERT_TRUE(mailbox.put(tags[i], at::full({1}, static_cast<double>(i))));
  EXPECT_EQ(mailbox.waiting(), 6u);
  for (std::size_t i = tags.size(); i-- > 0;)
    EXPECT_EQ(mailbox.take(tags[i])->item<float>(), static_cast<float>(i));
  EXPECT_EQ(mailbox.waiting(), 0u);
}

TEST(Mailbox, ATagIsTakenBeforeItComesAgain) {
  Mailbox mailbox;
  EXPECT_TRUE(mailbox.put(kTag, at::ones({1})));
  EXPECT_FALSE(mailbox.put(kTag, at::zeros({1})));
  EXPECT_EQ(mailbox.take(kTag)->item<float>(), 1.0f);
  EXPECT_TRUE(mailbox.put(kTag, at::zeros({1})));
}

TEST(Mailbox, TakeWaitsForItsTensor) {
  Mailbox mailbox;
  float got = 0;
  std::jthread taker([&] { got = mailbox.take(kTag)->item<float>(); });
  Tag other = kTag;
  ++other.step;
  EXPECT_TRUE(mailbox.put(other, at::zeros({1})));
  EXPECT_TRUE(LocalChannel(mailbox, 0).send(kTag, at::full({1}, 7.0)));
  taker.join();
  EXPECT_EQ(got, 7.0f);
}

TEST(Mailbox, AFailureWakesAllAndTheFirstOneStays) {
  Mailbox mailbox;
  std::vector<std::string> heard(3);
  {
    std::vector<std::jthread> takers;
    for (std::size_t i = 0; i < heard.size(); ++i)
      takers.emplace_back([&, i] {
        Tag tag = kTag;
        tag.microbatch = static_cast<int>(i);
        heard[i] = LocalChannel(mailbox, 0).receive(tag).error().message;
      });
    mailbox.fail({ErrorKind::peer, "first"});
    mailbox.fail({ErrorKind::internal, "second"});
  }
  EXPECT_EQ(heard, std::vector<std::string>(3, "first"));
  EXPECT_FALSE(mailbox.put(kTag, at::ones({1})));
  EXPECT_EQ(mailbox.take(kTag).error().kind, ErrorKind::peer);
}

TEST(Mailbox, AFailureIsHeardEvenByWhoseTensorIsThere) {
  Mailbox mailbox;
  EXPECT_TRUE(mailbox.put(kTag, at::ones({1})));
  mailbox.fail({ErrorKind::link_lost, "gone"});
  EXPECT_EQ(mailbox.take(kTag).error().message, "gone");
}

TEST(Tag, IsNamedForPeople) {
  EXPECT_EQ(tag_text(kTag), "gradient of step 3, microbatch 2, domain 0, boundary 1");
}

TEST(Codec, Fp32IsExact) {
  const Tensor tensor = at::randn({5, 3});
  const Bytes payload = encode(tensor, wire::Codec::fp32);
  EXPECT_EQ(payload.size(), 60u);
  EXPECT_TRUE(decode(payload, wire::Codec::fp32, 5, 3).equal(tensor));
}

TEST(Codec, Bf16RoundsToNearestEven) {
  const std::uint32_t bits[] = {0x3f808000, 0x3f818000, 0x3f808001, 0xc0490fdb};
  const std::uint32_t want[] = {0x3f800000, 0x3f820000, 0x3f810000, 0xc0490000};
  Tensor tensor = at::empty({2, 2});
  for (std::size_t i = 0; i < 4; ++i) fp32_span(tensor)[i] = std::bit_cast<float>(bits[i]);
  const Bytes payload = encode(tensor, wire::Codec::bf16);
  EXPECT_EQ(payload.size(), 8u);
  const Tensor decoded = decode(payload, wire::Codec::bf16, 2, 2);
  for (std::size_t i = 0; i < 4; ++i)
    EXPECT_EQ(std::bit_cast<std::uint32_t>(fp32_span(decoded)[i]), want[i]);
}

TEST(Codec, StridedTensorsAreEncodedRowByRow) {
  const Tensor tensor = at::randn({3, 5}).t();
  EXPECT_TRUE(decode(encode(tensor, wire::Codec::fp32), wire::Codec::fp32, 5, 3).equal(tensor));
}

}  // namespace
}  // namespace hairpin::pipeline

// Mailboxes and the tags of what goes through them.
#include "hairpin/pipeline/mailbox.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <thread>

#include "hairpin/pipeline/channel.h"

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
  EXPECT_EQ(tag_text(kTag), "gradient of step 4, microbatch 3, domain 0, boundary 1");
}

}  // namespace
}  // namespace hairpin::pipeline

#include "hairpin/metrics/progress.h"

#include <gtest/gtest.h>

#include <vector>

namespace hairpin::metrics {
namespace {

StepRecord record(std::int64_t step, double seconds) {
  return {.step = step,
          .loss = 2.0,
          .tokens = 100,
          .step_seconds = seconds,
          .tokens_per_second = 100 / seconds};
}

// What a run of `steps` steps of `seconds` each shows.
std::vector<std::string> shown(ProgressOptions options, std::int64_t steps, double seconds) {
  std::vector<std::string> out;
  Progress progress(options, [&](const std::string& text) { out.push_back(text); });
  for (std::int64_t step = 1; step <= steps; ++step)
    EXPECT_TRUE(progress.write(record(step, seconds)));
  EXPECT_TRUE(progress.finish());
  return out;
}

TEST(ProgressTest, ATerminalsLineIsRedrawnAtEveryStepAndEndedOnce) {
  EXPECT_EQ(
      shown({.steps = 2, .terminal = true}, 2, 0.5),
      (std::vector<std::string>{"\r\x1b[Kstep 1/2  loss 2.0000  200 tokens/s  ETA 0:01",
                                "\r\x1b[Kstep 2/2  loss 2.0000  200 tokens/s  ETA 0:00", "\n"}));
}

TEST(ProgressTest, ATerminalsLineIsCutToItsWidth) {
  EXPECT_EQ(shown({.steps = 1, .terminal = true, .columns = 9}, 1, 1.0).at(0), "\r\x1b[Kstep 1/1");
}

TEST(ProgressTest, AnInterruptedLineIsEndedOnce) {
  std::string out;
  Progress progress({.steps = 2, .terminal = true}, [&](const std::string& text) { out += text; });
  progress.interrupt();
  EXPECT_EQ(out, "");
  ASSERT_TRUE(progress.write(record(1, 1.0)));
  out.clear();
  progress.interrupt();
  ASSERT_TRUE(progress.finish());
  EXPECT_EQ(out, "\n");
}

TEST(ProgressTest, PlainLinesAreFirstLastAndEveryFewSeconds) {
  const auto lines = shown({.steps = 8, .every_seconds = 5.0}, 8, 2.0);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0].rfind("step 1/8 ", 0), 0u);
  EXPECT_EQ(lines[1].rfind("step 4/8 ", 0), 0u);  // 6 s after the first
  EXPECT_EQ(lines[2].rfind("step 7/8 ", 0), 0u);
  EXPECT_EQ(lines[3], "step 8/8  loss 2.0000  50 tokens/s  ETA 0:00\n");
}

TEST(ProgressTest, ASkippedStepIsAlwaysShown) {
  for (const bool terminal : {false, true}) {
    std::vector<std::string> out;
    Progress progress({.steps = 9, .terminal = terminal},
                      [&](const std::string& text) { out.push_back(text); });
    for (std::int64_t step = 1; step <= 4; ++step) {
      auto line = record(step, 1.0);
      if (step == 2) line.skipped = Skipped::no_trained_tokens;
      if (step == 3) line.skipped = Skipped::not_finite;
      ASSERT_TRUE(progress.write(line));
    }
    const std::string second = "step 2/9  skipped: no trained tokens  100 tokens/s  ETA 0:07";
    const std::string third = "step 3/9  skipped: gradient not finite  100 tokens/s  ETA 0:06";
    if (terminal) {
      ASSERT_EQ(out.size(), 6u);
      EXPECT_EQ(out[1], "\r\x1b[K" + second);
      EXPECT_EQ(out[2], "\n");
      EXPECT_EQ(out[3], "\r\x1b[K" + third);
      EXPECT_EQ(out[4], "\n");
    } else {
      ASSERT_EQ(out.size(), 3u);
      EXPECT_EQ(out[1], second + "\n");
      EXPECT_EQ(out[2], third + "\n");
    }
  }
}

TEST(ProgressTest, TheLastStepIsShownAtOnce) {
  std::string out;
  Progress progress({.steps = 2}, [&](const std::string& text) { out += text; });
  ASSERT_TRUE(progress.write(record(1, 1.0)));
  ASSERT_TRUE(progress.write(record(2, 1.0)));
  EXPECT_NE(out.find("step 2/2 "), std::string::npos);
}

TEST(ProgressTest, ARunThatEndsEarlyShowsItsLastStep) {
  const auto lines = shown({.steps = 100, .every_seconds = 5.0}, 2, 1.0);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1], "step 2/100  loss 2.0000  100 tokens/s  ETA 1:38\n");
}

TEST(ProgressTest, TheCloudShowsTheLinkAndNoLoss) {
  std::string out;
  Progress progress({.steps = 10}, [&](const std::string& text) { out += text; });
  ASSERT_TRUE(progress.write({.step = 1,
                              .tokens = 10,
                              .step_seconds = 2.0,
                              .tokens_per_second = 5.0,
                              .link_bytes_up = 3'000'000,
                              .link_bytes_down = 1'000'000}));
  EXPECT_EQ(out, "step 1/10  5 tokens/s  link 2.0 MB/s  ETA 0:18\n");
}

TEST(ProgressTest, Clock) {
  EXPECT_EQ(clock_text(0), "0:00");
  EXPECT_EQ(clock_text(59.6), "1:00");
  EXPECT_EQ(clock_text(3599), "59:59");
  EXPECT_EQ(clock_text(10930), "3:02:10");
  EXPECT_EQ(clock_text(1e300), "long");
  EXPECT_EQ(clock_text(-1), "0:00");
}

TEST(ProgressTest, AFileIsNoTerminal) {
  auto* file = std::tmpfile();
  EXPECT_FALSE(progress_options(file, 5).terminal);
  EXPECT_EQ(progress_options(file, 5).steps, 5);
  std::fclose(file);
}

}  // namespace
}  // namespace hairpin::metrics

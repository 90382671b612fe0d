#include "hairpin/schedule/after_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hairpin::schedule {
namespace {

using testing::HasSubstr;

constexpr const char* kNothing =
    "neither bandwidth nor latency, edge speed or memory alone would shorten the step by 1 %";

Record record_of(const char* kind, const GenerateOptions& options) {
  Record record{.schedule = generate(kind, options).value(), .times = options.times};
  record.in_flight_cap = options.in_flight_cap;
  return record;
}

std::string line_of(const Record& record) { return after_run_line(record).value(); }

// One microbatch passes every op once: 10 + 20 + 10 forward, 20 + 40 + 20 back, and four crossings
// of 100 ms each: 520 ms, of which the edge works 60. With half the latency 320.
TEST(AfterRun, NamesWhoIsBusyAndWhatWouldHelp) {
  GenerateOptions options{.pp = 2, .microbatches = 1, .shape = Shape::hairpin};
  options.times = Times{.forward = {10'000, 20'000, 10'000},
                        .backward = {20'000, 40'000, 20'000},
                        .backward_weight = {},
                        .latency = 100'000,
                        .up = {},
                        .down = {}};
  for (const char* kind : {"gpipe", "hairpin-1f1b", "hairpin-adaptive"})
    EXPECT_EQ(line_of(record_of(kind, options)),
              "edge busy 12 %, the edge waits 88 %; half the latency would help most: step 520 -> "
              "320 ms (-38 %)");
}

// The link's transfers rule: 64 x 100 ms each way, the whole step's time but for its two ends.
TEST(AfterRun, ABusyLink) {
  GenerateOptions options{.pp = 2, .microbatches = 64, .shape = Shape::hairpin};
  options.times = Times{.forward = {100, 200, 100},
                        .backward = {200, 400, 200},
                        .backward_weight = {},
                        .latency = 0,
                        .up = {100'000, 100'000},
                        .down = {100'000, 100'000}};
  const auto line = line_of(record_of("hairpin-adaptive", options));
  EXPECT_THAT(line, HasSubstr(", the link up 99 %, the link down 99 %, the edge waits 100 %; twice "
                              "the bandwidth would help most: step "));
  EXPECT_THAT(line, HasSubstr(" ms (-50 %)"));
}

TEST(AfterRun, MemoryCountsWhereThereIsACap) {
  GenerateOptions options{.pp = 2, .microbatches = 32, .shape = Shape::hairpin};
  options.times = Times{.forward = {1000, 2000, 1000},
                        .backward = {2000, 4000, 2000},
                        .backward_weight = {},
                        .latency = 8000,
                        .up = {},
                        .down = {}};
  options.in_flight_cap = {2, 2, 2};
  EXPECT_THAT(line_of(record_of("hairpin-adaptive", options)),
              HasSubstr("twice the memory for microbatches in flight would help most"));
}

TEST(AfterRun, AtItsBoundNothingWouldHelp) {
  GenerateOptions options{.pp = 2, .microbatches = 64, .shape = Shape::hairpin};
  options.times = Times{.forward = {10, 20'000, 10},
                        .backward = {20, 40'000, 20},
                        .backward_weight = {},
                        .latency = 10,
                        .up = {},
                        .down = {}};
  EXPECT_EQ(line_of(record_of("hairpin-adaptive", options)),
            std::string("cloud 1 busy 100 %, the edge waits 100 %; ") + kNothing);
}

// One site: no link and no edge that could be better.
TEST(AfterRun, ALineOfRanks) {
  GenerateOptions options{.pp = 2, .microbatches = 1, .shape = Shape::line};
  options.times = Times{.forward = {1000, 2000},
                        .backward = {1000, 2000},
                        .backward_weight = {},
                        .latency = 0,
                        .up = {},
                        .down = {}};
  EXPECT_EQ(line_of(record_of("1f1b", options)),
            std::string("rank 1 busy 67 %, rank 0 waits 67 %; ") + kNothing);
}

TEST(AfterRun, NothingBeforeAnythingWasMeasured) {
  EXPECT_EQ(line_of(record_of("hairpin-1f1b", {.pp = 2, .microbatches = 2})), "");
}

// The options make the same schedule again.
TEST(AfterRun, OptionsOfARecord) {
  GenerateOptions options{3, 4, 2, 3, Shape::hairpin};
  options.split_backward = true;
  options.in_flight_cap = {3, 3, 3, 3};
  options.times = unit_times(layout_of("hairpin-adaptive", options).value());
  const Record record = record_of("hairpin-adaptive", options);
  EXPECT_EQ(generate("hairpin-adaptive", options_of(record)).value(), record.schedule);
  const Record line = record_of("zb-h1", {.pp = 3, .microbatches = 4, .domains = 2});
  EXPECT_EQ(generate("zb-h1", options_of(line)).value(), line.schedule);
}

TEST(AfterRun, MillisecondsToThreeDigits) {
  EXPECT_EQ(milliseconds_text(567'400), "567");
  EXPECT_EQ(milliseconds_text(56'740), "56.7");
  EXPECT_EQ(milliseconds_text(5'674), "5.67");
  EXPECT_EQ(milliseconds_text(0), "0.00");
}

}  // namespace
}  // namespace hairpin::schedule

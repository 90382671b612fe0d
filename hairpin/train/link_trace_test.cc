#include "hairpin/train/link_trace.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "hairpin/base/file.h"
#include "hairpin/base/temporary_directory.h"
#include "hairpin/link/memory_link.h"
#include "hairpin/schedule/generate.h"

namespace hairpin::train {
namespace {

using wire::TensorKind;

schedule::Schedule layout(int domains, bool split) {
  return schedule::generate(
             "hairpin-1f1b",
             {.pp = 3, .microbatches = 4, .domains = domains, .split_backward = split})
      .value();
}

std::string name_of(const schedule::Schedule& of, TensorKind kind, int boundary, int microbatch,
                    int domain) {
  return frame_name(of, wire::TensorMessage{.kind = kind,
                                            .boundary = static_cast<std::uint16_t>(boundary),
                                            .domain = static_cast<std::uint16_t>(domain),
                                            .microbatch = static_cast<std::uint32_t>(microbatch)});
}

TEST(LinkTrace, AFrameIsNamedLikeTheOpWhoseResultItCarries) {
  const auto plain = layout(1, false), split = layout(2, true);
  EXPECT_EQ(name_of(plain, TensorKind::activation, 0, 1, 0), "FS2");
  EXPECT_EQ(name_of(plain, TensorKind::activation, 2, 3, 0), "F4");
  EXPECT_EQ(name_of(plain, TensorKind::gradient, 2, 0, 0), "BS1");
  EXPECT_EQ(name_of(plain, TensorKind::gradient, 0, 0, 0), "B1");
  EXPECT_EQ(name_of(split, TensorKind::gradient, 2, 0, 1), "BSi1.1");
  EXPECT_EQ(name_of(split, TensorKind::gradient, 0, 2, 0), "Bi3.0");
  EXPECT_EQ(name_of(split, TensorKind::gradient, 3, 2, 0), "tensor");  // no such boundary
  EXPECT_EQ(frame_name(plain, wire::WeightsChunk{}), "weights-chunk");
}

// A link that does nothing but tell.
class TellingLink : public link::Link {
 public:
  Result<void> send(wire::Message) override { return {}; }
  Result<wire::Message> receive() override { return wire::Message(wire::Goodbye{}); }
  void fail(Error) override {}
  Result<void> flush() override { return {}; }
  void set_max_frame_bytes(std::uint64_t) override {}
  link::Traffic sent() const override { return {}; }
  link::Traffic received() const override { return {}; }
  link::LinkEstimate estimate() const override { return {}; }
  void watch(link::FrameObserver observer) override { tell = std::move(observer); }

  link::FrameObserver tell;
};

nlohmann::json events_of(const metrics::Trace& trace) {
  const TemporaryDirectory directory;
  EXPECT_TRUE(trace.write(directory / "trace.json"));
  return nlohmann::json::parse(read_text_file(directory / "trace.json").value()).at("traceEvents");
}

TEST(LinkTrace, SpansOfOneTrackDoNotOverlap) {
  using std::chrono::microseconds;
  const auto at = [](int time) { return link::Moment(microseconds(time)); };
  const auto of = layout(1, false);
  metrics::Trace trace({.clock_offset = std::chrono::nanoseconds(0)});
  TellingLink link;
  {
    const LinkTrace watched(link, &trace, of, 10);
    const wire::TensorMessage message{.step = 6};
    link.tell(
        message,
        {.sent = true, .bytes = 99, .began = at(10), .ended = at(20), .queueing = microseconds(3)});
    for (const int begin : {15, 20, 18, 17, 16})  // each ends later than the one before
      link.tell(message, {.sent = true, .began = at(begin), .ended = at(30)});
    link.tell(message, {.sent = false, .began = at(15), .ended = at(25)});
    link.tell(wire::Manifest{}, {.sent = true, .began = at(1), .ended = at(2)});  // control
  }
  EXPECT_FALSE(link.tell);

  std::vector<nlohmann::json> spans;
  std::map<int, std::string> names;
  for (const auto& event : events_of(trace)) {
    if (event.at("name") == "thread_name") names[event.at("tid")] = event.at("args").at("name");
    if (event.at("ph") == "X") spans.push_back(event);
  }
  std::vector<int> threads;
  for (const auto& span : spans) threads.push_back(span.at("tid"));
  EXPECT_EQ(spans.at(0), nlohmann::json::parse(R"({"name": "FS1", "cat": "link", "ph": "X",
      "ts": 10.0, "dur": 10.0, "pid": 0, "tid": 10,
      "args": {"bytes": 99, "queued_us": 3, "step": 7}})"));
  EXPECT_EQ(threads, (std::vector<int>{10, 11, 10, 12, 13, 13, 14}));
  EXPECT_EQ(names, (std::map<int, std::string>{{10, "link sent"},
                                               {11, "link sent (2)"},
                                               {12, "link sent (3)"},
                                               {13, "link sent (4)"},
                                               {14, "link received"}}));
}

TEST(LinkTrace, WithoutATraceNothingIsWatched) {
  TellingLink link;
  const auto of = layout(1, false);
  const LinkTrace watched(link, nullptr, of, 0);
  EXPECT_FALSE(link.tell);
}

// Over a real link: both ends see the one tensor.
TEST(LinkTrace, BothEndsSeeAFrame) {
  const auto of = layout(1, false);
  metrics::Trace edge({}), cloud({});
  auto pair = link::make_memory_pair();
  {
    const LinkTrace at_edge(*pair.edge, &edge, of, 0), at_cloud(*pair.cloud, &cloud, of, 0);
    ASSERT_TRUE(pair.edge->send(wire::TensorMessage{.shape = {1, 2}, .payload = Bytes(8)}));
    ASSERT_TRUE(pair.cloud->receive());
    ASSERT_TRUE(pair.edge->flush());
  }
  for (const auto* trace : {&edge, &cloud}) {
    const auto events = events_of(*trace);
    ASSERT_EQ(events.size(), 3u);  // the process, the track, the span
    EXPECT_EQ(events[1].at("args").at("name"), trace == &edge ? "link sent" : "link received");
    EXPECT_EQ(events[2].at("name"), "FS1");
    EXPECT_GT(events[2].at("args").at("bytes"), 8);
  }
}

}  // namespace
}  // namespace hairpin::train

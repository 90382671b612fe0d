#include "hairpin/egress/log.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "hairpin/base/file.h"
#include "hairpin/base/temporary_directory.h"
#include "hairpin/egress/line.h"

namespace hairpin::egress {
namespace {

using Lines = std::vector<std::string>;

class EgressLog : public testing::Test {
 protected:
  std::filesystem::path path() const { return directory_ / "egress.jsonl"; }

  // An opening record, a manifest, three tensors, scalars; perhaps a closing record.
  void write(bool close = true) {
    auto log = LogWriter::create(path()).value();
    ASSERT_TRUE(log.append(wire::Manifest{.step = 1, .microbatches = {{}, {}}}, 60));
    for (std::uint32_t i = 0; i < 3; ++i)
      ASSERT_TRUE(log.append(wire::TensorMessage{.kind = i < 2 ? wire::TensorKind::activation
                                                               : wire::TensorKind::gradient,
                                                 .codec = wire::Codec::bf16,
                                                 .boundary = 2,
                                                 .domain = 1,
                                                 .step = 1,
                                                 .microbatch = i,
                                                 .shape = {5, 8},
                                                 .payload = Bytes(80)},
                             136));
    ASSERT_TRUE(log.append(wire::StepScalars{.step = 1}, 70));
    if (close) {
      ASSERT_TRUE(log.close());
    }
  }
  Lines lines() const {
    Lines all;
    std::string line;
    const auto text = read_text_file(path()).value();
    for (const char c : text) {
      if (c == '\n')
        all.push_back(std::exchange(line, {}));
      else
        line += c;
    }
    return all;
  }
  std::string fault(const Lines& changed, std::string_view last = "") const {
    std::string text;
    for (const auto& line : changed) text += line + "\n";
    text += last;
    EXPECT_TRUE(write_file_atomic(path(), as_byte_span(text)));
    const auto verified = verify(path());
    if (verified) return "";
    EXPECT_EQ(verified.error().kind, ErrorKind::bad_input);
    return verified.error().message.substr(path().string().size());
  }
  static void expect_starts(const std::string& text, std::string_view start) {
    EXPECT_TRUE(text.starts_with(start)) << text << "\nwanted: " << start;
  }

  TemporaryDirectory directory_;
};

TEST_F(EgressLog, SumsUpPerType) {
  write();
  const auto summary = verify(path()).value();
  EXPECT_TRUE(summary.closed);
  EXPECT_EQ(summary.lines, 7u);
  EXPECT_EQ(summary.all, (Totals{5, 60 + 3 * 136 + 70}));
  EXPECT_EQ(summary.by_type.at("tensor/activation"), (Totals{2, 272}));
  EXPECT_EQ(summary.by_type.at("tensor/gradient"), (Totals{1, 136}));
  EXPECT_EQ(summary.by_type.at("manifest"), (Totals{1, 60}));
  EXPECT_EQ(summary.by_type.at("scalars"), (Totals{1, 70}));
  const auto json = nlohmann::json::parse(summary_json(summary));
  EXPECT_EQ(json["by_type"]["tensor/activation"]["bytes"], 272);
  EXPECT_EQ(json["closed"], true);
  EXPECT_NE(summary_text(summary).find("unbroken and closed"), std::string::npos);
  EXPECT_NE(summary_text(summary).find(summary.last_hash), std::string::npos);
}

TEST_F(EgressLog, ALineSaysWhatTheFrameIsAbout) {
  write();
  const auto line = nlohmann::json::parse(lines().at(2));
  EXPECT_EQ(line["sequence"], 2);
  EXPECT_EQ(line["type"], "tensor");
  EXPECT_EQ(line["kind"], "activation");
  EXPECT_EQ(line["bytes"], 136);
  EXPECT_EQ(line["payload_bytes"], 80);
  EXPECT_EQ(line["step"], 1);
  EXPECT_EQ(line["microbatch"], 0);
  EXPECT_EQ(line["boundary"], 2);
  EXPECT_EQ(line["domain"], 1);
  EXPECT_EQ(line["shape"], (nlohmann::json{5, 8}));
  EXPECT_EQ(line["dtype"], "F32");
  EXPECT_EQ(line["codec"], "bf16");
  EXPECT_EQ(line["previous"], nlohmann::json::parse(lines().at(1))["hash"]);
}

// Computed apart from this code, from the rule in docs/egress-log.md.
TEST_F(EgressLog, GoldenLine) {
  auto hash = first_previous();
  EXPECT_EQ(
      chain_line(0, R"("type":"open","time":"2026-01-02T03:04:05.000006Z","format":1)", hash),
      R"({"sequence":0,"type":"open","time":"2026-01-02T03:04:05.000006Z","format":1,"previous":")"
      R"(0000000000000000000000000000000000000000000000000000000000000000","hash":")"
      R"(20af18d5ad6110df955493e66973b685b485e715b3eed6c5fd9fe14f74325218"})");
}

TEST_F(EgressLog, WithoutItsClosingRecordItIsNotClosed) {
  write(false);
  const auto summary = verify(path()).value();
  EXPECT_FALSE(summary.closed);
  EXPECT_EQ(summary.all.frames, 5u);
  EXPECT_NE(summary_text(summary).find("not closed"), std::string::npos);
}

TEST_F(EgressLog, Edited) {
  write();
  const auto good = lines();
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto changed = good;
    changed[i][14] = changed[i][14] == '9' ? '8' : '9';
    expect_starts(fault(changed), fmt::format(":{}: the line was edited", i + 1));
    changed = good;
    changed[i][changed[i].size() - 5] ^= 1;  // in the hash
    expect_starts(fault(changed), fmt::format(":{}: the line was edited", i + 1));
    changed[i] = "{}";
    expect_starts(fault(changed), fmt::format(":{}: the line was edited", i + 1));
  }
}

TEST_F(EgressLog, Removed) {
  write();
  const auto good = lines();
  for (std::size_t i = 0; i + 1 < good.size(); ++i) {
    auto changed = good;
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(i));
    expect_starts(fault(changed), fmt::format(":{}: lines were removed: 1 missing", i + 1));
  }
}

TEST_F(EgressLog, Reordered) {
  write();
  auto changed = lines();
  std::swap(changed[2], changed[4]);
  expect_starts(fault(changed), ":3: lines were reordered: line 5 of the log stands here");
}

TEST_F(EgressLog, Doubled) {
  write();
  auto changed = lines();
  changed.insert(changed.begin() + 3, changed[2]);
  expect_starts(fault(changed), ":4: line 3 of the log stands here again");
}

TEST_F(EgressLog, ReplacedWithARightHash) {
  write();
  auto changed = lines();
  std::string hash = nlohmann::json::parse(changed[1])["hash"];
  const auto fields = changed[2].substr(14, changed[2].find(",\"previous\"") - 14);
  auto smaller = fields;
  smaller.replace(smaller.find("\"bytes\":136"), 11, "\"bytes\":100");
  changed[2] = chain_line(2, smaller, hash);
  expect_starts(fault(changed), ":4: the line does not follow the one before it");
}

TEST_F(EgressLog, CutShortOrTooLong) {
  write();
  auto good = lines();
  const auto last = good.back();
  good.pop_back();
  EXPECT_EQ(fault(good), "");  // not closed
  for (const std::size_t size : {std::size_t{1}, last.size() / 2, last.size()})
    expect_starts(fault(good, last.substr(0, size)), ":7: the last line is cut short");
  good.push_back(last);
  good.push_back(last);
  expect_starts(fault(good), ":8: there is a line after the closing record");
}

TEST_F(EgressLog, FalseClosingRecord) {
  write(false);
  const auto good = lines();
  for (const auto* counts :
       {R"("frames":4,"frame_bytes":538)", R"("frames":5,"frame_bytes":537)"}) {
    auto changed = good;
    std::string hash = nlohmann::json::parse(changed.back())["hash"];
    changed.push_back(chain_line(6, std::string(R"("type":"close","time":"t",)") + counts, hash));
    expect_starts(fault(changed), ":7: the closing record's counts are not those");
  }
}

TEST_F(EgressLog, EmptyAndMissing) {
  EXPECT_EQ(verify(path()).error().kind, ErrorKind::bad_input);
  EXPECT_NE(fault({}), "");
}

TEST_F(EgressLog, NothingIsOverwrittenAndNothingFollowsTheClose) {
  write();
  EXPECT_EQ(LogWriter::create(path()).error().kind, ErrorKind::bad_input);
  auto log = LogWriter::create(directory_ / "second.jsonl").value();
  ASSERT_TRUE(log.append(wire::Heartbeat{}, 40));
  ASSERT_TRUE(log.close());
  EXPECT_FALSE(log.append(wire::Heartbeat{}, 40));
  EXPECT_EQ(verify(directory_ / "second.jsonl").value().all, (Totals{1, 40}));
}

TEST_F(EgressLog, AFullDiskStopsTheFrames) {
  auto log = LogWriter::create(path()).value();
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit full{std::filesystem::file_size(path()), before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &full);
  const auto first = log.append(wire::Heartbeat{}, 40);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(first);
  EXPECT_NE(first.error().message.find("nothing more may leave this site"), std::string::npos);
  EXPECT_FALSE(log.append(wire::Heartbeat{}, 40));  // though there is room again
  EXPECT_FALSE(log.close());
}

TEST_F(EgressLog, ThreadsShareOneChain) {
  {
    auto log = LogWriter::create(path()).value();
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) ASSERT_TRUE(log.append(wire::Heartbeat{}, 40));
      });
    threads.clear();
    ASSERT_TRUE(log.close());
  }
  EXPECT_EQ(verify(path()).value().all, (Totals{200, 8000}));
}

}  // namespace
}  // namespace hairpin::egress

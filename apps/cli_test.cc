// `hairpin` from outside: exit codes, streams and sentences.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "hairpin/base/file.h"
#include "hairpin/base/temporary_directory.h"
#include "hairpin/egress/log.h"

namespace hairpin::apps {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Ran {
  int code = -1;
  std::string out, err;
};

Ran hairpin(const std::string& arguments) {
  const TemporaryDirectory directory;
  const auto out = directory / "out", err = directory / "err";
  const auto command = fmt::format("{}/bin/hairpin {} > {} 2> {}", HAIRPIN_BINARY_DIR, arguments,
                                   out.string(), err.string());
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_text_file(out).value(),
          read_text_file(err).value()};
}

// A mistake: exit code 2, one line on standard error, nothing else.
std::string usage_error(const std::string& arguments) {
  const auto ran = hairpin(arguments);
  EXPECT_EQ(ran.code, 2) << arguments;
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, StartsWith("hairpin: error: "));
  EXPECT_EQ(ran.err.find('\n'), ran.err.size() - 1);
  return ran.err;
}

TEST(CliTest, HelpAndVersion) {
  const auto version = hairpin("--version");
  EXPECT_EQ(version.code, 0);
  EXPECT_THAT(version.out, ::testing::MatchesRegex("hairpin [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  const auto help = hairpin("--help");
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, HasSubstr("convert"));
  EXPECT_EQ(help.err, "");
  EXPECT_THAT(hairpin("schedule simulate --help").out, HasSubstr("--latency"));
}

TEST(CliTest, UsageErrorsSayWhatToDo) {
  EXPECT_THAT(usage_error("shedule"), HasSubstr("did you mean \"schedule\"?"));
  EXPECT_THAT(usage_error("schedule simulat"), HasSubstr("did you mean \"simulate\"?"));
  EXPECT_THAT(usage_error("qqqqqqq"), HasSubstr("unknown command"));
  EXPECT_THAT(usage_error(""), HasSubstr("see hairpin --help"));
  EXPECT_THAT(usage_error("schedule"), HasSubstr("see hairpin schedule --help"));
  EXPECT_THAT(usage_error("schedule show --pp x"), HasSubstr("see hairpin schedule show --help"));
  EXPECT_THAT(usage_error("schedule show --nonsense 1 --kind gpipe --pp 2 --microbatches 1"),
              HasSubstr("--nonsense"));
}

TEST(CliTest, ErrorsOfACommandHaveTheirKindsExitCode) {
  EXPECT_THAT(usage_error("schedule show --kind gpip --pp 2 --microbatches 1"), HasSubstr("gpipe"));
  EXPECT_THAT(usage_error("convert split /nonexistent --layers 1,1,1 --edge a --cloud b"),
              HasSubstr("/nonexistent"));
  EXPECT_THAT(usage_error("convert split --layers 1,1,1 /nonexistent --edge a --cloud b"),
              HasSubstr("/nonexistent"));
}

TEST(CliTest, AJobsMistakesAreNamedWithFileAndLine) {
  const TemporaryDirectory directory;
  const auto job = (directory / "job.toml").string();
  EXPECT_THAT(usage_error("train " + job), HasSubstr(job));
  std::ofstream(job) << "[train]\nstep = 1\n";
  for (const char* command : {"train", "edge", "cloud"})
    EXPECT_THAT(usage_error(fmt::format("{} {}", command, job)),
                HasSubstr(job + ":2: [train] step: unknown key; did you mean \"steps\"?"));
  EXPECT_THAT(usage_error("train --set train.step=2 " + job), HasSubstr("unknown key"));
  EXPECT_THAT(usage_error(fmt::format("train {} --set train.steps=x --set train.seed=1", job)),
              HasSubstr("step"));
}

TEST(CliTest, EvalAndGenerateWantAModel) {
  EXPECT_THAT(usage_error("eval /nonexistent --data x"), HasSubstr("/nonexistent"));
  EXPECT_THAT(usage_error("generate /nonexistent --prompt x"), HasSubstr("/nonexistent"));
  EXPECT_THAT(usage_error("generate /nonexistent"), HasSubstr("--prompt"));
  EXPECT_THAT(usage_error("eval /nonexistent --data x --threads 0"), HasSubstr("--threads"));
}

TEST(CliTest, AnEgressLogIsVerified) {
  const TemporaryDirectory directory;
  const auto log = (directory / "egress.jsonl").string();
  EXPECT_THAT(usage_error("audit log " + log), HasSubstr(log));
  auto writer = egress::LogWriter::create(log).value();
  ASSERT_TRUE(writer.append(wire::Goodbye{}, 20));
  ASSERT_TRUE(writer.close());
  EXPECT_EQ(hairpin("audit log " + log).code, 0);
  const auto ran = hairpin("audit log --json " + log);
  EXPECT_TRUE(nlohmann::json::accept(ran.out)) << ran.out;
  std::filesystem::resize_file(log, std::filesystem::file_size(log) - 2);
  EXPECT_THAT(usage_error("audit log " + log), HasSubstr(log + ":"));
}

TEST(CliTest, KeysAreMadeOnce) {
  const TemporaryDirectory directory;
  const auto command = "keys " + (directory / "keys").string();
  EXPECT_EQ(hairpin(command).code, 0);
  for (const char* name : {"edge/cert.pem", "edge/key.pem", "edge/ca.pem", "cloud/cert.pem"})
    EXPECT_TRUE(std::filesystem::exists(directory / "keys" / name)) << name;
  EXPECT_THAT(usage_error(command), HasSubstr((directory / "keys").string()));
}

TEST(CliTest, ScheduleShowPrintsTheSpecsNotation) {
  const auto ran = hairpin("schedule show --kind hairpin-1f1b --pp 2 --microbatches 4 --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(nlohmann::json::parse(ran.out).at("ranks").at(1),
            (nlohmann::json{"F1", "F2", "B1", "F3", "B2", "F4", "B3", "B4"}));
}

TEST(CliTest, ScheduleSimulatePrintsTheMakespan) {
  const auto ran = hairpin(
      "schedule simulate --kind hairpin-1f1b --pp 3 --microbatches 6 --latency 0 --fs 1 --fe 1 "
      "--bs "
      "2 --be 2 --f 2 --b 4 --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(nlohmann::json::parse(ran.out).at("makespan").get<double>(), 46.0);
}

TEST(CliTest, ScheduleSimulateKeepsACapAndDraws) {
  const TemporaryDirectory directory;
  const auto svg = directory / "step.svg", trace = directory / "trace.json";
  const auto ran = hairpin(
      "schedule simulate --kind hairpin-adaptive --pp 3 --microbatches 16 --latency 8 --cap "
      "8,4,4,2 "
      "--f 2,3 --transfer-up 0.5 --json --svg " +
      svg.string() + " --trace " + trace.string());
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto peaks = nlohmann::json::parse(ran.out).at("peak_in_flight_by_stage");
  EXPECT_LE(peaks.at(0).get<int>(), 8);
  EXPECT_LE(peaks.at(3).get<int>(), 2);
  EXPECT_TRUE(std::filesystem::exists(svg));
  EXPECT_TRUE(std::filesystem::exists(trace));
}

TEST(CliTest, ScheduleCompareMarksWhatACapForbids) {
  const auto ran = hairpin("schedule compare --pp 3 --microbatches 16 --cap 2 --json");
  ASSERT_EQ(ran.code, 0) << ran.err;
  const auto kinds = nlohmann::json::parse(ran.out).at("kinds");
  ASSERT_EQ(kinds.size(), 3u);
  EXPECT_FALSE(kinds.at(1).at("legal").get<bool>());
  EXPECT_TRUE(kinds.at(2).at("legal").get<bool>());
  EXPECT_THAT(usage_error("schedule compare --pp 3 --microbatches 16 --cap 0"),
              HasSubstr("too small for one microbatch"));
}

}  // namespace
}  // namespace hairpin::apps

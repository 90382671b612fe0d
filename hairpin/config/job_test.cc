#include "hairpin/config/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "hairpin/base/temporary_directory.h"

namespace hairpin::config {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A whole split job; `replace` puts another line in the place of one.
const std::string kJob = R"([model]
path = "models/m"
[split]
layers = [2, 13, 13, 2]
[data]
train = "train.jsonl"
sequence_length = 512
[train]
steps = 100
[optimizer]
learning_rate = 3e-4
clip_norm = 1
[schedule]
kind = "hairpin-1f1b"
[edge]
keys = "keys/edge"
[cloud]
threads = 2
[link]
codec = "bf16"
[output]
directory = "runs/r"
)";

std::string replace(const std::string& line, const std::string& with) {
  auto text = kJob;
  const auto at = text.find(line);
  if (at == std::string::npos) throw std::logic_error("no line " + line);
  return text.replace(at, line.size(), with);
}

const std::string kOneSite =
    "[model]\npath = \"m\"\n[data]\ntrain = \"t\"\n[train]\nsteps = 1\n[output]\ndirectory = "
    "\"o\"\n";

std::string error_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const auto job = parse_job(text, "job.toml", overrides);
  if (job) return "no error";
  EXPECT_EQ(job.error().kind, ErrorKind::bad_input);
  EXPECT_EQ(job.error().message.find('\n'), std::string::npos);
  return job.error().message;
}

TEST(JobTest, ReadsEveryTableAndKeepsDefaults) {
  const auto job = parse_job(kJob, "job.toml").value();
  EXPECT_EQ(job.file, "job.toml");
  EXPECT_EQ(job.model.path, "models/m");
  EXPECT_EQ(job.split->layers, (std::vector<std::int64_t>{2, 13, 13, 2}));
  EXPECT_EQ(job.train.steps, 100);
  EXPECT_EQ(job.train.microbatches, 1);
  EXPECT_EQ(job.optimizer.learning_rate, 3e-4);
  EXPECT_EQ(job.optimizer.clip_norm, 1.0);
  EXPECT_EQ(job.edge.keys, "keys/edge");
  EXPECT_EQ(job.cloud.threads, 2);
  EXPECT_EQ(job.link.codec, "bf16");
  EXPECT_EQ(job.link.address, "127.0.0.1:7461");
}

// None of its own: `link.codec`, which train/setup.h puts in.
TEST(JobTest, EachKindAndDirectionMayHaveACodecOfItsOwn) {
  const auto link = parse_job(replace("codec = \"bf16\"",
                                      "codec = \"bf16\"\ncodec_activation_up = \"int4\"\n"
                                      "codec_gradient_down = \"int8\""),
                              "job.toml")
                        ->link;
  EXPECT_EQ(link.codec, "bf16");
  EXPECT_EQ(link.codec_activation_up, "int4");
  EXPECT_EQ(link.codec_gradient_down, "int8");
  EXPECT_FALSE(link.codec_activation_down);
  EXPECT_FALSE(link.codec_gradient_up);
  EXPECT_EQ(error_of(kJob, {"link.codec_gradient_up=int3"}),
            "--set link.codec_gradient_up=int3: [link] codec_gradient_up = \"int3\": unknown; did "
            "you mean \"int8\"? It takes \"fp32\", \"bf16\", \"int8\" or \"int4\"");
}

TEST(JobTest, ReadsEnums) {
  const auto job = parse_job(replace("sequence_length = 512",
                                     "on_bad_sample = \"skip\"\non_long_sample = \"truncate\""),
                             "job.toml")
                       .value();
  EXPECT_EQ(job.data.on_bad_sample, OnBad::skip);
  EXPECT_EQ(job.data.on_long_sample, OnLong::truncate);
}

TEST(JobTest, OneSiteNeedsNoSplitAndDefaultsToItsOwnSchedule) {
  const auto job = parse_job(kOneSite + "[site]\nthreads = 2\n", "job.toml").value();
  EXPECT_FALSE(job.split);
  EXPECT_EQ(job.schedule.kind, "1f1b");
  EXPECT_EQ(job.site.threads, 2);
}

TEST(JobTest, ZeroStepsNeedNoTrainingFile) {
  const auto text = "[model]\npath = \"m\"\n[train]\nsteps = 0\n[output]\ndirectory = \"o\"\n";
  EXPECT_TRUE(parse_job(text, "job.toml"));
  EXPECT_EQ(
      error_of(text, {"train.steps=1"}),
      "job.toml: [data] train: required and missing; give the training file, or train.steps = "
      "0");
}

TEST(JobTest, UnknownKeysNameTheNearest) {
  EXPECT_EQ(error_of(replace("steps = 100", "steps = 100\nstep = 5")),
            "job.toml:10: [train] step: unknown key; did you mean \"steps\"?");
  EXPECT_EQ(error_of(kJob, {"train.seeds=5"}),
            "--set train.seeds=5: [train] seeds: unknown key; did you mean \"seed\"?");
  EXPECT_EQ(error_of(replace("steps = 100", "steps = 100\nclip_norm = 5")),
            "job.toml:10: [train] clip_norm: unknown key; it belongs in [optimizer]");
  EXPECT_THAT(error_of(replace("steps = 100", "steps = 100\nzzzzzz = 5")),
              StartsWith("job.toml:10: [train] zzzzzz: unknown key; remove it"));
  EXPECT_EQ(error_of(kJob + "tensor_paralel = 5\n[cloud2]\n"),
            "job.toml:24: [cloud2]: unknown table; did you mean [cloud]?");
}

TEST(JobTest, WrongTypesSayWhatIsWanted) {
  EXPECT_EQ(error_of(replace("steps = 100", "steps = \"100\"")),
            "job.toml:9: [train] steps = \"100\": is a string; give a whole number");
  EXPECT_EQ(error_of(replace("steps = 100", "steps = 1.0")),
            "job.toml:9: [train] steps = 1.0: is a number; give a whole number");
  EXPECT_EQ(error_of(kJob, {"train.steps=5O"}),
            "--set train.steps=5O: [train] steps = \"5O\": is a string; give a whole number");
  EXPECT_THAT(
      error_of(replace("[2, 13, 13, 2]", "[2, \"13\", 2]")),
      HasSubstr("is a list of other things than whole numbers; give a list of whole numbers"));
  EXPECT_THAT(error_of(kJob, {"data.packing=yes"}), HasSubstr("is a string; give true or false"));
  EXPECT_THAT(error_of(kJob, {"data.on_bad_sample=1"}),
              HasSubstr("is a whole number; give a string, \"fail\" or \"skip\""));
}

TEST(JobTest, RangesAreChecked) {
  const std::vector<std::string> good = {"train.steps=0",
                                         "train.microbatches=1",
                                         "data.sequence_length=2",
                                         "cloud.threads=256",
                                         "edge.tensor_parallel=1024",
                                         "cloud.data_parallel=1024",
                                         "edge.zero=0",
                                         "optimizer.beta1=0",
                                         "optimizer.weight_decay=0",
                                         "train.seed=0",
                                         "link.peer_timeout=2",
                                         "optimizer.warmup_steps=0",
                                         "train.loss_chunk=1",
                                         "optimizer.clip_norm=0.5",
                                         "train.seed=9223372036854775807",
                                         "link.address=\"[::1]:1\""};
  for (const auto& text : good) EXPECT_TRUE(parse_job(kJob, "job.toml", {text})) << text;

  const std::vector<std::string> bad = {
      "train.steps=-1",         "train.microbatches=0",       "train.microbatches=65537",
      "data.sequence_length=1", "train.microbatch_size=0",    "train.loss_chunk=0",
      "train.seed=-1",          "optimizer.epsilon=0",        "optimizer.learning_rate=0",
      "optimizer.beta1=1",      "optimizer.beta2=-0.1",       "optimizer.learning_rate=inf",
      "optimizer.beta1=nan",    "optimizer.clip_norm=0",      "optimizer.learning_rate=nan",
      "optimizer.momentum=1",   "optimizer.clip_norm=inf",    "optimizer.weight_decay=-1",
      "edge.threads=0",         "edge.threads=257",           "optimizer.warmup_steps=-1",
      "edge.tensor_parallel=0", "cloud.tensor_parallel=1025", "cloud.zero=-1",
      "cloud.data_parallel=0",  "edge.data_parallel=1025",    "cloud.zero=4",
      "link.connections=0",     "link.connections=17",        "link.connect_timeout=0",
      "link.peer_timeout=1.9",  "link.connect_timeout=1e9"};
  for (const auto& text : bad)
    EXPECT_THAT(error_of(kJob, {text}),
                ::testing::AllOf(StartsWith("--set " + text), HasSubstr("out of range; give ")));
}

TEST(JobTest, WordsAreChecked) {
  EXPECT_EQ(error_of(replace("hairpin-1f1b", "hairpin-1f2b")),
            "job.toml:14: [schedule] kind = \"hairpin-1f2b\": unknown; did you mean "
            "\"hairpin-1f1b\"? It takes \"gpipe\", \"1f1b\", \"zb-h1\", \"hairpin-1f1b\" or "
            "\"hairpin-adaptive\"");
  EXPECT_THAT(error_of(kJob, {"optimizer.kind=lion"}),
              HasSubstr("unknown; use \"adamw\" or \"sgd\""));
  EXPECT_THAT(error_of(kJob, {"model.path=\"\""}), HasSubstr("is empty; give a path"));
  EXPECT_THAT(error_of(kJob, {"link.address=localhost"}), HasSubstr("write host:port"));
}

TEST(JobTest, FeaturesToComeAreRefusedByName) {
  const std::vector<std::string> refused = {"cloud.context_parallel=2",
                                            "edge.expert_parallel=2",
                                            "cloud.zero=2",
                                            "edge.zero=3",
                                            "cloud.recompute=full",
                                            "cloud.release_memory=step",
                                            "train.precision=bf16",
                                            "schedule.kind=interleaved",
                                            "split.vision_layers=[1, 0, 0]",
                                            "data.form=alpaca",
                                            "adapt.rank=8"};
  for (const auto& text : refused)
    EXPECT_THAT(error_of(kJob, {text}), ::testing::AllOf(StartsWith("--set " + text + ": ["),
                                                         HasSubstr("not built yet; ")));
  EXPECT_EQ(error_of(kJob, {"cloud.context_parallel=2"}),
            "--set cloud.context_parallel=2: [cloud] context_parallel = 2: not built yet; remove "
            "the key or give 1");
  EXPECT_EQ(error_of(kJob, {"cloud.zero=2"}),
            "--set cloud.zero=2: [cloud] zero = 2: not built yet; use 0 or 1");
}

TEST(JobTest, ValuesThatAskForNothingAreAccepted) {
  const auto job =
      parse_job(kJob, "job.toml",
                {"edge.context_parallel=1", "cloud.expert_parallel=1", "cloud.recompute=none",
                 "cloud.release_memory=never", "data.form=messages"});
  ASSERT_TRUE(job);
  EXPECT_EQ(*job, parse_job(kJob, "job.toml").value());
}

TEST(JobTest, ReadsTheSitesParallelism) {
  const auto job =
      parse_job(kJob, "job.toml",
                {"train.microbatches=3", "edge.data_parallel=6", "cloud.tensor_parallel=1024",
                 "cloud.data_parallel=2", "cloud.sequence_parallel=true", "cloud.zero=1",
                 "cloud.overlap_grad_reduce=false", "edge.overlap_param_gather=false"})
          .value();
  EXPECT_EQ(job.edge,
            (Site{.keys = "keys/edge", .data_parallel = 6, .overlap_param_gather = false}));
  EXPECT_EQ(job.cloud, (Site{.threads = 2,
                             .tensor_parallel = 1024,
                             .data_parallel = 2,
                             .sequence_parallel = true,
                             .zero = 1,
                             .overlap_grad_reduce = false}));
  const auto site =
      parse_job(kOneSite, "job.toml", {"site.pipeline=[3, 0]", "site.zero=1"}).value();
  EXPECT_EQ(site.site, (Site{.pipeline = std::vector<std::int64_t>{3, 0}, .zero = 1}));
}

TEST(JobTest, AnEdgeReplicaWithoutAMicrobatchIsRefused) {
  EXPECT_EQ(
      error_of(kJob, {"train.microbatches=2", "edge.data_parallel=7", "cloud.data_parallel=3"}),
      "--set edge.data_parallel=7: [edge] data_parallel = 7: a step has only 6 microbatches "
      "(train.microbatches = 2 x cloud.data_parallel = 3), so some replicas would have none; "
      "give at most 6, or train.microbatches = 3 or more");
  EXPECT_TRUE(parse_job(kJob, "job.toml",
                        {"train.microbatches=3", "edge.data_parallel=7", "cloud.data_parallel=3"}));
}

TEST(JobTest, AStepsMicrobatchesAreBounded) {
  EXPECT_TRUE(parse_job(kJob, "job.toml", {"train.microbatches=64", "cloud.data_parallel=1024"}));
  EXPECT_EQ(
      error_of(kOneSite, {"site.tensor_parallel=1024", "site.data_parallel=5"}),
      "--set site.data_parallel=5: [site] data_parallel = 5: makes 5120 ranks (1 pipeline ranks "
      "x tensor_parallel = 1024 x data_parallel), and 4096 is the most of a site; give "
      "data_parallel at most 4");
  EXPECT_THAT(error_of(kJob, {"cloud.tensor_parallel=1024", "cloud.data_parallel=3"}),
              HasSubstr("makes 6144 ranks (2 pipeline ranks"));
  EXPECT_EQ(error_of(kOneSite, {"train.microbatches=65", "site.data_parallel=1024"}),
            "--set site.data_parallel=1024: [site] data_parallel = 1024: with train.microbatches = "
            "65 a step has 66560 microbatches, and 65536 is the most; give at most 1008, or lower "
            "train.microbatches");
}

TEST(JobTest, SequenceParallelNeedsTensorParallel) {
  for (const char* site : {"edge", "cloud"})
    EXPECT_EQ(
        error_of(kJob, {fmt::format("{}.sequence_parallel=true", site)}),
        fmt::format("--set {0}.sequence_parallel=true: [{0}] sequence_parallel = true: shares "
                    "tokens between tensor-parallel ranks, and tensor_parallel is 1; give "
                    "tensor_parallel = 2 or more, or remove it",
                    site));
  EXPECT_THAT(error_of(kOneSite, {"site.sequence_parallel=true"}),
              HasSubstr("[site] sequence_parallel = true: "));
}

TEST(JobTest, APipelineIsAListOfLayersOnOneSite) {
  for (const char* kind : {"1f1b", "gpipe"})
    EXPECT_TRUE(parse_job(kOneSite, "job.toml",
                          {"site.pipeline=[8, 8, 7, 7]", fmt::format("schedule.kind={}", kind)}));
  EXPECT_THAT(error_of(kOneSite, {"site.pipeline=[]"}), HasSubstr("has no stage; give a count"));
  EXPECT_THAT(error_of(kOneSite, {"site.pipeline=[1, -1]"}),
              HasSubstr("-1 is not a number of layers; give counts from 0"));
  EXPECT_THAT(error_of(kJob, {"cloud.pipeline=[8, 8]"}),
              HasSubstr("unknown key; it belongs in [site]"));
}

TEST(JobTest, ANormTypeIsAWordOrItsNumber) {
  const auto type = [](const std::string& value) {
    const auto text = "optimizer.norm_type=" + value;
    return parse_job(kJob, "job.toml", {text}).value().optimizer.norm_type;
  };
  for (const char* one : {"\"1\"", "1", "1.0"}) EXPECT_EQ(type(one), NormType::one);
  for (const char* two : {"\"2\"", "2", "2.0"}) EXPECT_EQ(type(two), NormType::two);
  for (const char* infinity : {"\"inf\"", "inf", "+inf"})
    EXPECT_EQ(type(infinity), NormType::infinity);
  EXPECT_EQ(error_of(kJob, {"optimizer.norm_type=3"}),
            "--set optimizer.norm_type=3: [optimizer] norm_type = 3: unknown; give a string, "
            "\"1\", \"2\" or \"inf\"");
  for (const char* bad : {"1.5", "nan", "-inf", "0", "\"one\""})
    EXPECT_THAT(error_of(kJob, {std::string("optimizer.norm_type=") + bad}),
                HasSubstr("\"1\", \"2\" or \"inf\""));
}

TEST(JobTest, EnumsHaveTheWordsOfTheFile) {
  for (const auto loss : {Loss::per_token, Loss::per_sample, Loss::per_microbatch}) {
    const auto text = fmt::format("train.loss={}", word_of(loss));
    EXPECT_EQ(parse_job(kJob, "job.toml", {text}).value().train.loss, loss);
  }
  for (const auto on_nonfinite : {OnNonfinite::stop, OnNonfinite::skip}) {
    const auto text = fmt::format("train.on_nonfinite={}", word_of(on_nonfinite));
    EXPECT_EQ(parse_job(kJob, "job.toml", {text}).value().train.on_nonfinite, on_nonfinite);
  }
  EXPECT_EQ(word_of(Loss::per_sample), "per_sample");
  EXPECT_EQ(word_of(OnNonfinite::skip), "skip");
  EXPECT_EQ(word_of(NormType::one), "1");
  EXPECT_EQ(word_of(NormType::infinity), "inf");
}

TEST(JobTest, RequiredKeysAreNamed) {
  EXPECT_EQ(error_of(replace("path = \"models/m\"", "")),
            "job.toml:1: [model] path: required and missing; give a path as a string");
  EXPECT_THAT(
      error_of(replace("steps = 100", "")),
      StartsWith("job.toml:8: [train] steps: required and missing; give a whole number, 0 "));
  EXPECT_THAT(error_of(replace("layers = [2, 13, 13, 2]", "")),
              StartsWith("job.toml:3: [split] layers: required and missing; "));
  EXPECT_THAT(error_of(replace("[output]\ndirectory = \"runs/r\"", "")),
              StartsWith("job.toml: [output] directory: required and missing; "));
  EXPECT_THAT(error_of("[train]\nsteps = 0\n[output]\ndirectory = \"o\"\n"),
              StartsWith("job.toml: [model] path: required and missing; "));
}

TEST(JobTest, TablesOfTheOtherFormAreRefused) {
  EXPECT_THAT(error_of(kJob + "[site]\n"),
              StartsWith("job.toml:23: [site]: only for a job on one"));
  for (const char* table : {"edge", "cloud", "link"})
    EXPECT_THAT(
        error_of(kOneSite + "[" + table + "]\n"),
        StartsWith(fmt::format("job.toml:9: [{}]: only for a job across two sites", table)));
  EXPECT_THAT(error_of(kOneSite, {"schedule.kind=hairpin-1f1b"}),
              HasSubstr("needs an edge and at least one cloud rank"));
  EXPECT_THAT(error_of(kJob, {"schedule.kind=1f1b"}), HasSubstr("has no place for an edge"));
  EXPECT_EQ(error_of(kJob, {"schedule.kind=gpipe", "schedule.adapt=true"}),
            "--set schedule.adapt=true: [schedule] adapt = true: kind = \"gpipe\" is pinned, it "
            "never changes its order; remove the key or use kind = \"hairpin-adaptive\"");
  EXPECT_EQ(error_of(kJob, {"schedule.kind=gpipe", "schedule.adapt=false"}), "no error");
  EXPECT_THAT(error_of(kJob, {"schedule.max_in_flight=0"}),
              HasSubstr("max_in_flight = 0: out of range; give 1 to"));
}

TEST(JobTest, LayersAreCountsOfAtLeastThreeStages) {
  EXPECT_THAT(error_of(kJob, {"split.layers=[2, 2]"}), HasSubstr("at least one cloud stage"));
  EXPECT_THAT(error_of(kJob, {"split.layers=[]"}), HasSubstr("at least one cloud stage"));
  EXPECT_THAT(error_of(kJob, {"split.layers=[2, -1, 2]"}),
              HasSubstr("-1 is not a number of layers"));
  EXPECT_TRUE(parse_job(kJob, "job.toml", {"split.layers=[1, 0, 1]"}));
}

TEST(JobTest, PlaintextOnlyOnLoopback) {
  EXPECT_TRUE(parse_job(kJob, "job.toml", {"link.insecure_loopback=true"}));
  for (const char* host : {"0.0.0.0:1", "localhost:1", "127.0.0.2:1", "\"[::1]:1\""})
    EXPECT_THAT(
        error_of(kJob, {"link.insecure_loopback=true", fmt::format("link.address={}", host)}),
        HasSubstr("only with host 127.0.0.1"));
}

TEST(JobTest, KeysThatWouldHaveNoMeaningAreRefused) {
  EXPECT_THAT(error_of(kJob, {"optimizer.momentum=0.9"}), HasSubstr("only for kind = \"sgd\""));
  EXPECT_TRUE(parse_job(kJob, "job.toml", {"optimizer.momentum=0.9", "optimizer.kind=sgd"}));
  EXPECT_THAT(error_of(kJob, {"optimizer.min_learning_rate=1"}),
              HasSubstr("more than learning_rate"));
}

TEST(JobTest, FilesAreBoundedAndMustExist) {
  EXPECT_THAT(error_of(std::string((std::size_t{1} << 20) + 1, '#')), HasSubstr("at most 1048576"));
  const TemporaryDirectory directory;
  const auto path = directory / "job.toml";
  std::ofstream(path) << kJob;
  EXPECT_EQ(load_job(path, {"train.steps=7"}).value().train.steps, 7);
  std::filesystem::remove(path);
  const auto missing = load_job(path, {});
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, StartsWith(path.string()));
}

}  // namespace
}  // namespace hairpin::config

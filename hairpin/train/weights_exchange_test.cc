// The cloud's trained tensors on their way to the edge, from an honest cloud and from others.
#include "hairpin/train/weights_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <thread>

#include "hairpin/base/temporary_directory.h"
#include "hairpin/checkpoint/weights.h"
#include "hairpin/hf/tiny_model.h"
#include "hairpin/link/memory_link.h"

namespace hairpin::train {
namespace {

using testing::HasSubstr;

// A model of four layers, the middle two in the cloud, with biases in bf16.
const Setup& setup() {
  static const TemporaryDirectory directory;
  static const Setup instance = [] {
    Setup made;
    made.job.split = config::Split{.layers = {1, 1, 1, 1}};
    EXPECT_TRUE(hf::write_tiny_model(directory / "m",
                                     {.model_type = "qwen2", .layers = 4, .dtype = DType::bf16}));
    made.model = hf::open_whole(directory / "m").value();
    return made;
  }();
  return instance;
}

ByteSpan in_file(const std::string& name) { return setup().model.files.find(name)->bytes; }

// What an honest cloud offers, made from the model's files.
wire::WeightsManifest honest_manifest() {
  std::vector<safetensors::TensorInfo> infos;
  for (const auto& tensor :
       hf::tensors_of(setup().model.architecture, hf::Half::cloud, setup().job.split->layers))
    infos.push_back({tensor.name, DType::bf16, tensor.shape});
  safetensors::sort_as_hugging_face(infos);
  wire::WeightsManifest manifest;
  for (const auto& info : infos)
    manifest.entries.push_back({info.name,
                                info.dtype,
                                {info.shape.begin(), info.shape.end()},
                                sha256(in_file(info.name))});
  return manifest;
}

class Exchange : public testing::Test {
 protected:
  // The edge's answer to a cloud that offers `manifest`.
  Result<std::vector<safetensors::Source>> request(const wire::WeightsManifest& manifest) {
    EXPECT_TRUE(pair_.cloud->send(manifest));
    auto sources = request_weights(setup(), edge_);
    EXPECT_TRUE(std::holds_alternative<wire::WeightsRequest>(pair_.cloud->receive().value()));
    return sources;
  }

  link::MemoryPair pair_ = link::make_memory_pair();
  pipeline::Mailbox mailbox_;
  pipeline::LinkSession edge_{*pair_.edge, mailbox_, {.role = wire::Role::edge}};
};

TEST_F(Exchange, TheEdgeGetsEveryTensorOfTheCloudByteForByte) {
  std::vector<std::unique_ptr<models::ModelPart>> parts;
  for (const std::int64_t segment : {2, 3}) {  // a rank each
    parts.push_back(std::make_unique<models::ModelPart>(
        setup().model.architecture, std::vector{arch::SegmentRange{segment, segment + 1}},
        models::ModelOptions{.positions = 8}));
    checkpoint::load_weights(*parts.back(), setup().model);
  }
  pipeline::Mailbox mailbox;
  pipeline::LinkSession cloud(*pair_.cloud, mailbox, {.role = wire::Role::cloud});
  Result<void> served;
  std::jthread serving(
      [&] { served = serve_weights(setup(), cloud, {{parts[0].get()}, {parts[1].get()}}); });

  const auto sources = request_weights(setup(), edge_);
  ASSERT_TRUE(sources) << sources.error().message;
  EXPECT_EQ(sources->size(), 24u);
  for (auto source = sources->rbegin(); source != sources->rend(); ++source) {  // any order
    const auto bytes = source->bytes();
    ASSERT_TRUE(bytes) << bytes.error().message;
    EXPECT_TRUE(std::ranges::equal(*bytes, in_file(source->info.name))) << source->info.name;
  }
  ASSERT_TRUE(edge_.send(wire::Goodbye{}));
  serving.join();
  EXPECT_TRUE(served) << served.error().message;
}

TEST_F(Exchange, AManifestThatIsNotTheCloudsTensorsIsRefused) {
  using Change = std::function<void(std::vector<wire::WeightEntry>&)>;
  const std::vector<std::pair<std::string, Change>> changes = {
      {"none", [](auto& e) { e.clear(); }},
      {"one missing", [](auto& e) { e.pop_back(); }},
      {"unknown name", [](auto& e) { e[3].name += "x"; }},
      {"the edge's tensor", [](auto& e) { e.back().name = "model.norm.weight"; }},
      {"one twice", [](auto& e) { e.insert(e.begin(), e[0]); }},
      {"other shape", [](auto& e) { ++e[0].shape[0]; }},
      {"other rank", [](auto& e) { e[0].shape.push_back(1); }},
      {"absurd shape", [](auto& e) { e[0].shape[0] = ~std::uint64_t{0}; }},
      {"integers", [](auto& e) { e[0].dtype = DType::i64; }},
      {"one too many", [](auto& e) { e.push_back({"z", DType::bf16, {1}, {}}); }},
  };
  for (const auto& [name, change] : changes) {
    auto manifest = honest_manifest();
    change(manifest.entries);
    const auto refused = request(manifest);
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().kind, ErrorKind::peer) << name;
    EXPECT_THAT(refused.error().message, HasSubstr("the trained tensor ")) << name;
  }
  EXPECT_TRUE(request(honest_manifest()));
}

TEST_F(Exchange, ATensorMayComeInPiecesOfAnySize) {
  const auto manifest = honest_manifest();
  const auto sources = request(manifest);
  ASSERT_TRUE(sources);
  const auto bytes = in_file(manifest.entries[0].name);
  std::jthread sending([&] {
    for (std::uint64_t offset = 0; offset < bytes.size(); offset += 1000) {
      const auto piece = bytes.subspan(offset, std::min<std::size_t>(1000, bytes.size() - offset));
      EXPECT_TRUE(
          pair_.cloud->send(wire::WeightsChunk{0, offset, Bytes(piece.begin(), piece.end())}));
    }
  });
  EXPECT_TRUE(std::ranges::equal(sources->front().bytes().value(), bytes));
}

TEST_F(Exchange, PiecesThatAreNotTheAnnouncedTensorAreRefused) {
  const auto manifest = honest_manifest();
  const auto bytes = in_file(manifest.entries[0].name);
  const Bytes whole(bytes.begin(), bytes.end());
  Bytes damaged = whole, longer = whole, half = whole;
  damaged[7] ^= std::byte{1};
  longer.push_back(std::byte{0});
  half.resize(half.size() / 2);
  const std::vector<std::pair<std::vector<wire::Message>, std::string>> wrong = {
      {{wire::WeightsChunk{0, 0, damaged}}, "arrived damaged"},
      {{wire::WeightsChunk{0, 0, longer}}, "a wrong piece of"},
      {{wire::WeightsChunk{1, 0, whole}}, "a wrong piece of"},
      {{wire::WeightsChunk{0, 1, whole}}, "a wrong piece of"},
      {{wire::WeightsChunk{0, 0, {}}}, "a wrong piece of"},
      {{wire::WeightsChunk{0, 0, half}, wire::WeightsChunk{0, 0, half}}, "a wrong piece of"},
      {{wire::WeightsChunk{0, 0, half}, wire::WeightsChunk{1, half.size(), half}},
       "a wrong piece of"},
      {{wire::WeightsManifest{}}, "where a weights-chunk message is due"},
  };
  for (const auto& [messages, sentence] : wrong) {
    const auto sources = request(manifest);
    ASSERT_TRUE(sources);
    for (const auto& message : messages) ASSERT_TRUE(pair_.cloud->send(message));
    const auto refused = sources->front().bytes();
    ASSERT_FALSE(refused) << sentence;
    EXPECT_EQ(refused.error().kind, ErrorKind::peer);
    EXPECT_THAT(refused.error().message, HasSubstr(sentence));
  }
}

// A surplus piece is where the next tensor, or the goodbye, is due.
TEST_F(Exchange, ASurplusPieceIsNotTheNextTensor) {
  const auto manifest = honest_manifest();
  const auto sources = request(manifest);
  ASSERT_TRUE(sources);
  const auto bytes = in_file(manifest.entries[0].name);
  const wire::WeightsChunk chunk{0, 0, Bytes(bytes.begin(), bytes.end())};
  ASSERT_TRUE(pair_.cloud->send(chunk) && pair_.cloud->send(chunk));
  EXPECT_TRUE((*sources)[0].bytes());
  EXPECT_EQ((*sources)[1].bytes().error().kind, ErrorKind::peer);
}

TEST_F(Exchange, AGoodbyeInsteadOfTheTensorsIsRefused) {
  ASSERT_TRUE(pair_.cloud->send(wire::Goodbye{}));
  const auto refused = request_weights(setup(), edge_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::peer);
}

TEST_F(Exchange, ATensorThatIsNotThereIsRefused) {
  pipeline::Mailbox mailbox;
  pipeline::LinkSession cloud(*pair_.cloud, mailbox, {.role = wire::Role::cloud});
  ASSERT_TRUE(edge_.send(wire::WeightsRequest{0}));
  const auto refused = serve_weights(setup(), cloud, {});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("asks for tensor 0 of 0"));
}

TEST_F(Exchange, TheCloudServesNothingBeforeItIsAsked) {
  pipeline::Mailbox mailbox;
  pipeline::LinkSession cloud(*pair_.cloud, mailbox, {.role = wire::Role::cloud});
  ASSERT_TRUE(edge_.send(wire::Goodbye{}));
  const auto refused = serve_weights(setup(), cloud, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::peer);
}

}  // namespace
}  // namespace hairpin::train

#include "hairpin/models/model_part.h"

#include "hairpin/base/check.h"

namespace hairpin::models {

ModelPart::ModelPart(const arch::Architecture& architecture, std::vector<arch::SegmentRange> ranges,
                     const ModelOptions& options)
    : ranges_(std::move(ranges)) {
  const auto specs = arch::segments(architecture);
  segments_.resize(specs.size());
  const auto rotary = std::make_shared<const nn::RotaryTable>(
      options.positions, architecture.head_dim, architecture.rope_theta);
  EmbeddingSegment* embedding = nullptr;
  for (const auto& range : ranges_)
    for (auto i = range.begin; i < range.end; ++i) {
      const auto& spec = specs.at(static_cast<std::size_t>(i));
      auto& slot = segments_[static_cast<std::size_t>(i)];
      switch (spec.kind) {
        case arch::SegmentSpec::Kind::embedding: {
          auto made = std::make_unique<EmbeddingSegment>(architecture);
          embedding = made.get();
          slot = std::move(made);
          break;
        }
        case arch::SegmentSpec::Kind::layer:
          slot = std::make_unique<LayerSegment>(architecture, spec.layer, rotary);
          break;
        case arch::SegmentSpec::Kind::head: {
          HAIRPIN_CHECK(!architecture.tie_word_embeddings || embedding != nullptr,
                        "a tied head lies on its embedding's rank");
          auto made = std::make_unique<HeadSegment>(
              architecture, options.loss_chunk,
              architecture.tie_word_embeddings ? &embedding->table() : nullptr);
          head_ = made.get();
          slot = std::move(made);
          break;
        }
      }
    }
}

Segment& ModelPart::segment(std::int64_t index) {
  auto& slot = segments_.at(static_cast<std::size_t>(index));
  HAIRPIN_CHECK(slot != nullptr, "segment {} is not on this rank", index);
  return *slot;
}

std::vector<Segment*> ModelPart::segments(const arch::SegmentRange& range) {
  std::vector<Segment*> list;
  for (auto i = range.begin; i < range.end; ++i) list.push_back(&segment(i));
  return list;
}

std::vector<nn::Bucket*> ModelPart::buckets() {
  std::vector<nn::Bucket*> list;
  for (const auto& held : segments_)
    if (held) list.push_back(&held->bucket());
  return list;
}

void ModelPart::begin_step() {
  for (auto* bucket : buckets()) bucket->begin_step();
  if (head_ != nullptr && head_->tied() != nullptr) head_->tied()->begin_step();
}

void ModelPart::finish_gradients() {
  if (head_ != nullptr && head_->tied() != nullptr) head_->tied()->fold_gradient();
  for (auto* bucket : buckets()) bucket->complete_gradients();
}

}  // namespace hairpin::models

#include "hairpin/models/model_part.h"

#include "hairpin/base/check.h"

namespace hairpin::models {

ModelPart::ModelPart(const arch::Architecture& architecture, std::vector<arch::SegmentRange> ranges,
                     const ModelOptions& options)
    : ranges_(std::move(ranges)), tied_(architecture.tie_word_embeddings) {
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
          auto made = std::make_unique<EmbeddingSegment>(architecture, options.tp);
          embedding = made.get();
          slot = std::move(made);
          break;
        }
        case arch::SegmentSpec::Kind::layer:
          slot = std::make_unique<LayerSegment>(architecture, spec.layer, rotary, options.tp);
          break;
        case arch::SegmentSpec::Kind::head: {
          auto made = std::make_unique<HeadSegment>(
              architecture, options.loss_chunk,
              tied_ && embedding != nullptr ? &embedding->table() : nullptr, options.tp);
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

std::vector<Segment*> ModelPart::segments() {
  std::vector<Segment*> list;
  for (const auto& held : segments_)
    if (held) list.push_back(held.get());
  return list;
}

std::vector<nn::Bucket*> ModelPart::buckets() {
  std::vector<nn::Bucket*> list;
  for (auto* held : segments()) list.push_back(&held->bucket());
  return list;
}

void ModelPart::begin_step() {
  for (auto* bucket : buckets()) bucket->begin_step();
  if (head_ != nullptr && head_->tied() != nullptr) head_->tied()->begin_step();
}

void ModelPart::finish_gradients(Segment& segment) {
  const bool embedding = &segment == segments_.front().get();
  if (embedding && head_ != nullptr && head_->tied() != nullptr) head_->tied()->fold_gradient();
  segment.bucket().complete_gradients();
}

void ModelPart::finish_gradients() {
  for (auto* held : segments()) finish_gradients(*held);
}

TiedApart ModelPart::tied_apart() {
  auto* embedding = segments_.front().get();
  if (!tied_ || (embedding == nullptr) == (head_ == nullptr)) return {};
  if (embedding != nullptr) return {embedding, &embedding->bucket()[0]};
  return {head_, &head_->bucket()[1]};
}

}  // namespace hairpin::models

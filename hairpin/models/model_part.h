// The segments of a model that one rank holds, and what their parameters share.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "hairpin/arch/architecture.h"
#include "hairpin/models/decoder.h"
#include "hairpin/models/segment.h"

namespace hairpin::models {

struct ModelOptions {
  std::int64_t positions = 0;     // position ids stay below this
  std::int64_t loss_chunk = 256;  // tokens whose logits exist at a time
};

// Not thread-safe; belongs to one rank. Weights start as zeros; checkpoint/weights.h loads them.
class ModelPart {
 public:
  // `ranges` are disjoint, ascending runs of segment indices in model order (the edge has two).
  // With tied embeddings a part that holds the head must hold the embedding too.
  ModelPart(const arch::Architecture& architecture, std::vector<arch::SegmentRange> ranges,
            const ModelOptions& options);

  const std::vector<arch::SegmentRange>& ranges() const { return ranges_; }
  Segment& segment(std::int64_t index);
  std::vector<Segment*> segments(const arch::SegmentRange& range);
  std::vector<nn::Bucket*> buckets();          // in model order
  HeadSegment* head() const { return head_; }  // null if not held

  void begin_step();
  // Adds tied uses and zeroes what got no gradient: afterwards every bucket's gradients are whole.
  void finish_gradients();

 private:
  std::vector<arch::SegmentRange> ranges_;
  std::vector<std::unique_ptr<Segment>> segments_;  // by model order; null: not held
  HeadSegment* head_ = nullptr;
};

}  // namespace hairpin::models

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
  parallel::TensorParallel tp;    // its groups outlive the part
};

struct TiedApart {
  Segment* segment = nullptr;
  nn::Parameter* table = nullptr;
};

// Not thread-safe; belongs to one rank. Weights start as zeros; checkpoint/weights.h loads them.
class ModelPart {
 public:
  // `ranges` are disjoint, ascending runs of segment indices in model order (the edge has two).
  ModelPart(const arch::Architecture& architecture, std::vector<arch::SegmentRange> ranges,
            const ModelOptions& options);

  const std::vector<arch::SegmentRange>& ranges() const { return ranges_; }
  Segment& segment(std::int64_t index);
  std::vector<Segment*> segments(const arch::SegmentRange& range);
  std::vector<Segment*> segments();            // all held, in model order
  std::vector<nn::Bucket*> buckets();          // in model order
  HeadSegment* head() const { return head_; }  // null if not held

  void begin_step();
  // Adds tied uses and zeroes what got no gradient: afterwards the segment's (all segments')
  // gradients are whole. The head's backwards precede the embedding's.
  void finish_gradients(Segment& segment);
  void finish_gradients();

  // With tied embeddings whose two uses lie on different ranks: this rank's table, whose gradient
  // is to be summed with the other's; else nulls.
  TiedApart tied_apart();

 private:
  std::vector<arch::SegmentRange> ranges_;
  std::vector<std::unique_ptr<Segment>> segments_;  // by model order; null: not held
  HeadSegment* head_ = nullptr;
  bool tied_;
};

}  // namespace hairpin::models

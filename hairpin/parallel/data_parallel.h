// A rank's buckets, and those of its data-parallel replicas: gradients summed over replicas while
// backward goes on, and with ZeRO 1 (Rajbhandari et al. 2020) each replica updating a share of the
// parameters, which are gathered while the next forward goes on.
#pragma once

#include <memory>
#include <vector>

#include "hairpin/collective/group.h"
#include "hairpin/mesh/share.h"
#include "hairpin/nn/parameter.h"

namespace hairpin::parallel {

struct DataParallelOptions {
  int zero = 0;                      // 1: the optimizer's state is divided over replicas
  bool overlap_grad_reduce = true;   // else all reductions run after backward
  bool overlap_param_gather = true;  // else parameters are whole before the next forward
};

// Not thread-safe; belongs to one rank. All replicas make the same calls in the same order.
class DataParallel {
 public:
  // `group` (null or of size 1: no replicas) and `buckets` must outlive this.
  DataParallel(collective::Group* group, std::vector<nn::Bucket*> buckets,
               const DataParallelOptions& options);
  ~DataParallel();

  // The elements of a bucket's flat buffers that this rank's optimizer updates: all, or with ZeRO 1
  // its share, in units of 16 elements.
  mesh::Range owned(const nn::Bucket& bucket) const;

  // This rank's gradients of `bucket` are complete (Bucket::complete_gradients) and nothing is
  // added to them any more: starts their sum over the replicas.
  void gradients_ready(nn::Bucket& bucket);
  // Starts what has not been announced, in the buckets' order, and waits for all: afterwards each
  // bucket's `owned` gradients are the sums over replicas, in replica order.
  void finish_gradients();

  // The owned parameters are updated: starts gathering the others'. Without ZeRO nothing moves.
  void parameters_updated();
  // Waits until the bucket's parameters are whole. Cheap when they are.
  void before_use(nn::Bucket& bucket);
  // Waits for all buckets; before parameters are read for anything but a forward.
  void finish_parameters();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hairpin::parallel

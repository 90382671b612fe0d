// The process groups of a site's ranks. All ranks are threads of this process.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hairpin/collective/local.h"
#include "hairpin/mesh/mesh.h"
#include "hairpin/metrics/trace.h"
#include "hairpin/parallel/tensor_parallel.h"
#include "hairpin/train/moved.h"
#include "hairpin/train/setup.h"

namespace hairpin::train {

// Members are used by their rank's thread; the rest is thread-safe. Ranks are numbers of the mesh.
class SiteGroups {
 public:
  // With `trace` (may be null; outlives the groups) each operation and each wait for one is a span:
  // on the rank's thread, or on that of the rank's communication on an axis.
  SiteGroups(const Setup& setup, metrics::Trace* trace);

  // How many of a trace's thread numbers, from 0 on, ranks and their communication take.
  static int num_trace_threads(const mesh::Mesh& mesh) { return 3 * mesh.num_ranks(); }

  collective::LocalWorld& world() { return world_; }
  const collective::LocalWorld& world() const { return world_; }
  parallel::TensorParallel tensor_parallel(int rank) const;
  collective::Group* data_parallel(int rank) const { return at(dp_, rank); }
  // With tied embeddings on different pipeline ranks: first and last, in this order; else null.
  collective::Group* tied(int rank) const { return at(tied_, rank); }

  // Bytes that a rank got from others so far. For the rank's thread.
  Moved moved(int rank) const;

 private:
  using Members = std::map<int, std::unique_ptr<collective::Group>>;
  struct Track {
    const char* axis;
    std::vector<int> ranks;
  };
  static collective::Group* at(const Members& members, int rank);
  void make(Members& members, const char* axis, std::vector<int> ranks, const std::string& name);
  int worker_thread(int rank, std::string_view axis) const;
  void record(const collective::Span& span) const;

  const bool sequence_parallel_;
  const mesh::Mesh mesh_;
  metrics::Trace* trace_;
  std::map<std::string, Track, std::less<>> tracks_;  // by a group's name
  collective::LocalWorld world_;
  Members tp_, copies_, dp_, tied_;
};

}  // namespace hairpin::train

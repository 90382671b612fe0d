// The channel of a boundary that the link crosses. One copy of a tensor crosses for all ranks of a
// tensor-parallel group: they hold the same rows, and rank 0 sends; or, with sequence parallelism,
// a share of the rows each, and whoever comes last hands all to the session, whose threads encode
// what leaves and fan out what arrives, ahead of the op that needs it.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "hairpin/parallel/tensor_parallel.h"
#include "hairpin/pipeline/channel.h"
#include "hairpin/pipeline/link_session.h"

namespace hairpin::pipeline {

// Where the ranks of a tensor-parallel group lay down their rows of a tensor. Thread-safe.
class RowGather {
 public:
  explicit RowGather(int ranks) : ranks_(ranks) {}
  // All shares, by rank, for whoever adds the last one; nothing for the others.
  std::optional<std::vector<Tensor>> add(const Tag& tag, int rank, Tensor rows);

 private:
  const int ranks_;
  std::mutex mutex_;
  std::map<Tag, std::vector<Tensor>> waiting_;
};

// Belongs to one rank. `gather` is the group's; all must outlive the channel.
class LinkChannel : public Channel {
 public:
  LinkChannel(LinkSession& session, Mailbox& mailbox, const parallel::TensorParallel& tp,
              RowGather& gather)
      : session_(session), mailbox_(mailbox), tp_(tp), gather_(gather) {}
  Result<void> send(Tag tag, Tensor tensor) override;
  Result<Tensor> receive(Tag tag) override;

 private:
  LinkSession& session_;
  Mailbox& mailbox_;
  const parallel::TensorParallel tp_;
  RowGather& gather_;
};

}  // namespace hairpin::pipeline

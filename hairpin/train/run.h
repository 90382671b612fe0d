// Training runs, from a prepared site to the exported model. What a run is given here has been
// proved to fit together; what can fail now is the peer, the link, or the machine.
#pragma once

#include "hairpin/base/result.h"
#include "hairpin/link/link.h"
#include "hairpin/samples/dataset.h"
#include "hairpin/train/egress_recorder.h"
#include "hairpin/train/setup.h"

namespace hairpin::train {

struct RunOptions {
  // A progress line on standard error; what schedules were agreed on, and at the end what would
  // help, in the log.
  bool progress = false;
};

// The training samples a job names; empty when train.steps is 0.
Result<samples::Dataset> load_samples(const Setup& setup);

// One site, one rank.
Result<void> train_whole(const Setup& setup, const samples::Dataset& dataset,
                         const RunOptions& options = {});

// The two sites of a split run, over a link that stands but has not been used. Handshake, training,
// the trained middle to the edge, the edge's export, goodbye. On failure the peer has been told.
// `egress` observes the edge's end of `link`, and is the caller's to close once the link is gone;
// null: nothing is recorded.
Result<void> train_edge(const Setup& setup, const samples::Dataset& dataset, link::Link& link,
                        EgressRecorder* egress, const RunOptions& options = {});
Result<void> train_cloud(const Setup& setup, link::Link& link, const RunOptions& options = {});

// `hairpin train`, `hairpin edge`, `hairpin cloud`: all of it, from the job on. `run_train` runs a
// job without a split on one rank, and both sites of one with a split in this process.
Result<void> run_train(const config::Job& job);
Result<void> run_edge(const config::Job& job);
Result<void> run_cloud(const config::Job& job);

}  // namespace hairpin::train

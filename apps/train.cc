#include "apps/commands.h"
#include "hairpin/base/log.h"
#include "hairpin/config/job.h"
#include "hairpin/train/run.h"

namespace hairpin::apps {
namespace {

Result<config::Job> load_split_job(const JobOptions& options, const char* command) {
  HAIRPIN_TRY(auto job, config::load_job(options.job, options.set));
  if (!job.split)
    return bad_input(
        "{}: has no [split] table, which says what runs at the edge and what in the "
        "cloud; add one, or use `hairpin train` instead of `hairpin {}`",
        options.job.string(), command);
  log::set_site(command);
  return job;
}

}  // namespace

Result<void> train(const JobOptions& options) {
  HAIRPIN_TRY(const auto job, config::load_job(options.job, options.set));
  return train::run_train(job);
}

Result<void> edge(const JobOptions& options) {
  HAIRPIN_TRY(const auto job, load_split_job(options, "edge"));
  return train::run_edge(job);
}

Result<void> cloud(const JobOptions& options) {
  HAIRPIN_TRY(const auto job, load_split_job(options, "cloud"));
  return train::run_cloud(job);
}

}  // namespace hairpin::apps

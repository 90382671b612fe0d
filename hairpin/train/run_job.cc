// From a job to a run: reads what it names, opens the link, and hands over to run.cc.
#include <chrono>
#include <memory>
#include <thread>

#include "hairpin/base/log.h"
#include "hairpin/config/address.h"
#include "hairpin/link/memory_link.h"
#include "hairpin/link/tls_link.h"
#include "hairpin/train/run.h"

namespace hairpin::train {
namespace {

constexpr RunOptions kShown{.progress = true};

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

Result<link::TlsLinkOptions> link_options(const Setup& setup) {
  const auto* site = setup.part == Part::edge ? "edge" : "cloud";
  if (!setup.site().keys && !setup.job.link.insecure_loopback)
    return bad_input(
        "{}: [{}] keys: missing, and the two sites know each other by them; make keys with "
        "`hairpin keys DIRECTORY` and give {}.keys = \"DIRECTORY/{}\"",
        setup.job.file.string(), site, site, site);
  HAIRPIN_TRY(const auto address, config::parse_address(setup.job.link.address));
  link::TlsLinkOptions options;
  options.host = address.host;
  options.port = address.port;
  options.keys = setup.site().keys.value_or("");
  options.insecure_loopback = setup.job.link.insecure_loopback;
  options.connections = static_cast<int>(setup.job.link.connections);
  options.connect_timeout = milliseconds(setup.job.link.connect_timeout);
  options.peer_timeout = milliseconds(setup.job.link.peer_timeout);
  return options;
}

// The log's closing record comes after the link's last frame, however the run ended.
Result<void> close_log(std::unique_ptr<link::Link> link, EgressRecorder& egress,
                       Result<void> outcome) {
  link.reset();
  auto closed = egress.close();
  return outcome ? closed : outcome;
}

// Both sites in this process. Either's failure ends the other, which then repeats the reason; the
// one whose own failure it is is told apart by its kind.
Result<void> run_both(const config::Job& job) {
  HAIRPIN_TRY(const auto edge, prepare(job, Part::edge));
  HAIRPIN_TRY(const auto cloud, prepare(job, Part::cloud));
  HAIRPIN_TRY(const auto dataset, load_samples(edge));
  EgressRecorder egress;
  link::MemoryLinkOptions options;
  options.edge_sent = egress.observer();
  auto pair = link::make_memory_pair(options);
  Result<void> cloud_outcome;
  std::jthread cloud_thread([&] { cloud_outcome = train_cloud(cloud, *pair.cloud); });
  auto outcome = train_edge(edge, dataset, *pair.edge, &egress, kShown);
  cloud_thread.join();
  outcome = close_log(std::move(pair.edge), egress, std::move(outcome));
  if (!outcome && !cloud_outcome && outcome.error().kind == ErrorKind::peer) return cloud_outcome;
  return outcome ? cloud_outcome : outcome;
}

}  // namespace

Result<void> run_train(const config::Job& job) {
  if (job.split) return run_both(job);
  HAIRPIN_TRY(const auto setup, prepare(job, Part::whole));
  HAIRPIN_TRY(const auto dataset, load_samples(setup));
  return train_whole(setup, dataset, kShown);
}

Result<void> run_edge(const config::Job& job) {
  HAIRPIN_TRY(const auto setup, prepare(job, Part::edge));
  HAIRPIN_TRY(const auto dataset, load_samples(setup));
  HAIRPIN_TRY(auto options, link_options(setup));
  EgressRecorder egress;
  options.sent = egress.observer();
  log::info("dialling {}", job.link.address);
  HAIRPIN_TRY(auto link, link::dial(options));
  auto outcome = train_edge(setup, dataset, *link, &egress, kShown);
  return close_log(std::move(link), egress, std::move(outcome));
}

Result<void> run_cloud(const config::Job& job) {
  HAIRPIN_TRY(const auto setup, prepare(job, Part::cloud));
  HAIRPIN_TRY(const auto options, link_options(setup));
  HAIRPIN_TRY(auto listener, link::Listener::bind(options));
  log::info("waiting for an edge at {}", job.link.address);
  HAIRPIN_TRY(const auto link, listener.accept());
  return train_cloud(setup, *link, kShown);
}

}  // namespace hairpin::train

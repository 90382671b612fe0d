// link_probe edge|cloud --address A:P --keys DIR [--frames N] [--frame-bytes B] [--control-ms T]
//
// One end of a link that carries nothing but made-up tensors: N of B bytes to the other end, and a
// message of the control lane right behind the first and every T ms while they go. What came is
// said as one JSON object at the end. The ends compare clocks: both must run on one machine.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "apps/process_setup.h"
#include "hairpin/link/tls_link.h"

namespace hairpin {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct Options {
  wire::Role role = wire::Role::edge;
  link::TlsLinkOptions link;
  std::uint32_t frames = 0;
  std::uint64_t frame_bytes = 0;
  int control_ms = 0;
};

constexpr std::uint32_t kHidden = 1024;
constexpr std::uint64_t kRowBytes = 4 * kHidden;

std::uint64_t nanoseconds_now() {
  return static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
}

double milliseconds_since(std::uint64_t stamp) {
  return static_cast<double>(nanoseconds_now() - stamp) / 1e6;
}

// A tensor that carries the time of its making.
wire::TensorMessage bulk(std::uint32_t number, std::uint64_t bytes) {
  wire::TensorMessage message;
  message.microbatch = number;
  message.shape = {static_cast<std::uint32_t>(bytes / kRowBytes), kHidden};
  message.payload.resize(bytes);
  const auto now = nanoseconds_now();
  std::memcpy(message.payload.data(), &now, sizeof now);
  return message;
}

// The next frame is queued when the one before has begun to go, so that there is always more.
class Sender {
 public:
  Sender(link::Link& link, const Options& options) : link_(link), options_(options) {}

  Result<void> run() {
    const auto frame_bytes = options_.frame_bytes;
    for (std::uint32_t i = 0; i < options_.frames; ++i) {
      HAIRPIN_CHECK_OK(link_.send(bulk(i, frame_bytes)));
      queued_ += frame_bytes;
      if (i == 0) HAIRPIN_CHECK_OK(control());
      const bool last = i + 1 == options_.frames;
      HAIRPIN_CHECK_OK(wait_until_left(last ? 0 : frame_bytes));
    }
    return {};
  }

 private:
  // Until no more than so many bytes of bulk wait.
  Result<void> wait_until_left(std::uint64_t bytes) {
    while (link_.sent().bytes + bytes < queued_) {
      std::this_thread::sleep_for(milliseconds(1));
      if (options_.control_ms > 0 &&
          Clock::now() - last_control_ >= milliseconds(options_.control_ms))
        HAIRPIN_CHECK_OK(control());
    }
    return {};
  }

  Result<void> control() {
    last_control_ = Clock::now();
    wire::StepScalars message;
    message.trained_tokens = nanoseconds_now();
    return link_.send(message);
  }

  link::Link& link_;
  const Options& options_;
  std::uint64_t queued_ = 0;
  Clock::time_point last_control_{};
};

class Receiver {
 public:
  // Until the peer's goodbye.
  Result<void> run(link::Link& link) {
    for (;;) {
      HAIRPIN_TRY(const auto message, link.receive());
      if (std::holds_alternative<wire::Goodbye>(message)) return {};
      if (const auto* tensor = std::get_if<wire::TensorMessage>(&message)) came(*tensor);
      if (const auto* scalars = std::get_if<wire::StepScalars>(&message))
        control_ms_.push_back(milliseconds_since(scalars->trained_tokens));
    }
  }

  nlohmann::json report() const {
    nlohmann::json report{{"frames", frames_}, {"bytes", bytes_}, {"control_ms", control_ms_}};
    const auto rate = [](std::uint64_t bytes, std::uint64_t from, std::uint64_t to) {
      return static_cast<double>(bytes) * 8e3 / static_cast<double>(to - from);
    };
    if (frames_ > 0) report["mbit_per_second"] = rate(bytes_, first_sent_, last_came_);
    if (frames_ > 1)  // without the start-up
      report["later_mbit_per_second"] = rate(bytes_ - first_bytes_, first_came_, last_came_);
    return report;
  }

 private:
  void came(const wire::TensorMessage& tensor) {
    last_came_ = nanoseconds_now();
    bytes_ += tensor.payload.size();
    if (frames_++ > 0) return;
    std::memcpy(&first_sent_, tensor.payload.data(), sizeof first_sent_);
    first_came_ = last_came_;
    first_bytes_ = bytes_;
  }

  std::uint64_t frames_ = 0, bytes_ = 0, first_bytes_ = 0;
  std::uint64_t first_sent_ = 0, first_came_ = 0, last_came_ = 0;
  std::vector<double> control_ms_;
};

nlohmann::json report(const link::Traffic& traffic) {
  const auto seconds = [](std::chrono::nanoseconds time) {
    return std::chrono::duration<double>(time).count();
  };
  return {{"bytes", traffic.bytes},
          {"messages", traffic.messages},
          {"queueing_seconds", seconds(traffic.queueing)},
          {"transfer_seconds", seconds(traffic.transfer)},
          {"idle_seconds", seconds(traffic.idle)}};
}

nlohmann::json report(const link::LinkEstimate& estimate) {
  return {{"rtt_ms", estimate.rtt_seconds * 1e3},
          {"min_rtt_ms", estimate.min_rtt_seconds * 1e3},
          {"rtt_samples", estimate.rtt_samples},
          {"up_mbit_per_second", estimate.up_bytes_per_second * 8e-6},
          {"down_mbit_per_second", estimate.down_bytes_per_second * 8e-6}};
}

Result<std::unique_ptr<link::Link>> connect(const Options& options) {
  if (options.role == wire::Role::edge) return link::dial(options.link);
  HAIRPIN_TRY(auto listener, link::Listener::bind(options.link));
  return listener.accept();
}

// Heartbeats, and so the estimates, end with a goodbye: a side that has nothing to send says it
// last.
Result<void> exchange(link::Link& link, const Options& options, Receiver& receiver) {
  const bool sends = options.frames > 0;
  Result<void> sent;
  std::thread sending([&] {
    sent = Sender(link, options).run();
    if (sent && sends) sent = link.send(wire::Goodbye{});
  });
  const auto received = receiver.run(link);
  sending.join();
  HAIRPIN_CHECK_OK(received);
  HAIRPIN_CHECK_OK(sent);
  return sends ? Result<void>{} : link.send(wire::Goodbye{});
}

Result<void> run(const Options& options) {
  HAIRPIN_TRY(const auto link, connect(options));
  link->set_max_frame_bytes(options.frame_bytes + (1 << 20));
  Receiver receiver;
  HAIRPIN_CHECK_OK(exchange(*link, options, receiver));
  const nlohmann::json line{{"role", wire::role_name(options.role)},
                            {"came", receiver.report()},
                            {"estimate", report(link->estimate())},
                            {"sent", report(link->sent())},
                            {"received", report(link->received())}};
  fmt::print("{}\n", line.dump());
  return {};
}

int main(int argc, char** argv) {
  CLI::App app{"One end of a link with made-up tensors."};
  Options options;
  std::string role, address;
  app.add_option("role", role)->required()->check(CLI::IsMember({"edge", "cloud"}));
  app.add_option("--address", address, "of the cloud, with its port")->required();
  app.add_option("--keys", options.link.keys, "this site's keys")->required();
  app.add_option("--frames", options.frames, "to send");
  app.add_option("--frame-bytes", options.frame_bytes, "a multiple of 4096; also the most taken")
      ->required()
      ->check(CLI::Range(std::uint64_t{kRowBytes}, std::uint64_t{1} << 30));
  app.add_option("--control-ms", options.control_ms, "between control messages; 0: one");
  app.add_option("--connections", options.link.connections);
  CLI11_PARSE(app, argc, argv);
  const auto colon = address.rfind(':');
  options.role = role == "edge" ? wire::Role::edge : wire::Role::cloud;
  options.link.host = address.substr(0, colon);
  options.link.port = static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1)));
  options.frame_bytes -= options.frame_bytes % kRowBytes;
  const auto done = run(options);
  if (!done) fmt::print(stderr, "link_probe: {}\n", done.error().message);
  return done ? 0 : static_cast<int>(done.error().kind);
}

}  // namespace
}  // namespace hairpin

int main(int argc, char** argv) {
  hairpin::apps::prepare_process(argv);  // as the product has it
  return hairpin::main(argc, argv);
}

// wanem: two network namespaces, "edge" and "cloud", joined by an emulated wide-area network.
//
// Runs until its standard input ends or SIGINT or SIGTERM comes, and leaves nothing behind however
// it ends. Says one JSON object a line: "ready" with where the namespaces are; "set" or "error" for
// each line read; "counts" when asked for and at the end. docs/wan.md.
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <string>

#include "tests/wan/network.h"
#include "tests/wan/relay.h"
#include "tests/wan/settings.h"

namespace hairpin::wan {
namespace {

constexpr int kNotPermitted = 77;  // ctest's SKIP_RETURN_CODE
const std::string kEdge = "10.99.0.1", kCloud = "10.99.0.2";

void say(const std::string& line) {
  // Whoever doesn't listen any more has closed our input, too.
  const std::string whole = line + "\n";
  [[maybe_unused]] const auto ignored = ::write(STDOUT_FILENO, whole.data(), whole.size());
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return result + '"';
}

std::string of_way(const Pipe& pipe) {
  const auto& c = pipe.counts();
  return fmt::format(
      R"({{"packets": {}, "bytes": {}, "dropped": {}, "lost": {}, "most_queued_bytes": {}}})",
      c.packets, c.bytes, c.dropped, c.lost, c.most_queued_bytes);
}

void say_counts(const Relay& relay) {
  const auto& late = relay.lateness();
  const auto mean =
      late.packets == 0 ? 0.0 : static_cast<double>(late.sum.count()) / late.packets / 1000;
  say(fmt::format(R"({{"event": "counts", "up": {}, "down": {}, "failed_writes": {}, )"
                  R"("late_us_mean": {:.1f}, "late_us_most": {:.1f}, "late_over_200us": {}}})",
                  of_way(relay.up()), of_way(relay.down()), relay.failed_writes(), mean,
                  static_cast<double>(late.most.count()) / 1000, late.over_200us));
}

void say_ready(const Network& edge, const Network& cloud, bool realtime) {
  const auto of = [](const Network& network, const std::string& address) {
    return fmt::format(R"({{"namespace": "{}", "address": "{}"}})", network.path(), address);
  };
  say(fmt::format(R"({{"event": "ready", "edge": {}, "cloud": {}, "realtime": {}}})",
                  of(edge, kEdge), of(cloud, kCloud), realtime));
}

// Lines such as "delay-ms 40" from standard input, and "counts".
class Orders {
 public:
  Orders(Settings& settings, Relay& relay) : settings_(settings), relay_(relay) {}

  // False at its end.
  bool read() {
    char bytes[4096];
    const auto size = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (size <= 0) return size < 0 && (errno == EAGAIN || errno == EINTR);
    pending_.append(bytes, static_cast<std::size_t>(size));
    for (auto end = pending_.find('\n'); end != std::string::npos; end = pending_.find('\n')) {
      obey(pending_.substr(0, end));
      pending_.erase(0, end + 1);
    }
    return pending_.size() < sizeof bytes;  // no order is that long
  }

 private:
  void obey(const std::string& line) {
    if (line == "counts") return say_counts(relay_);
    const auto space = line.find(' ');
    const auto name = line.substr(0, space);
    const auto value = space == std::string::npos ? std::string() : line.substr(space + 1);
    Result<void> done;
    if (for_start_only(name)) {
      done = bad_input("{} can't be changed while the emulator runs; start another", name);
    } else {
      done = set(settings_, name, value);
    }
    if (!done)
      return say(fmt::format(R"({{"event": "error", "error": {}}})", quoted(done.error().message)));
    relay_.change(settings_);
    say(fmt::format(R"({{"event": "set", "line": {}}})", quoted(line)));
  }

  Settings& settings_;
  Relay& relay_;
  std::string pending_;
};

// Timers without slack, and before every program that is measured: false where that isn't allowed.
bool be_punctual() {
  ::prctl(PR_SET_TIMERSLACK, 1UL);
  const sched_param priority{.sched_priority = 1};
  return ::sched_setscheduler(0, SCHED_FIFO, &priority) == 0;
}

int signals_to_end() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&set, number);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  return ::signalfd(-1, &set, SFD_CLOEXEC);
}

void run(const Network& edge, const Network& cloud, Settings settings) {
  const int signals = signals_to_end();
  Relay relay(edge.packets(), cloud.packets(), settings);
  Orders orders(settings, relay);
  say_ready(edge, cloud, be_punctual());
  pollfd watched[] = {{edge.packets(), POLLIN, 0},
                      {cloud.packets(), POLLIN, 0},
                      {STDIN_FILENO, POLLIN, 0},
                      {signals, POLLIN, 0}};
  while (watched[3].revents == 0) {
    if (watched[2].revents != 0 && !orders.read()) break;
    relay.run();
    const auto idle = relay.idle_for().count();
    const timespec limit{idle / 1'000'000'000, idle % 1'000'000'000};
    if (::ppoll(watched, std::size(watched), &limit, nullptr) <= 0)
      for (auto& one : watched) one.revents = 0;
  }
  say_counts(relay);
}

Result<Settings> settings_from(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    if (!name.starts_with("--")) return bad_input("'{}' is no option; see wanem --help", name);
    if (i + 1 == argc) return bad_input("{} has no value; see wanem --help", name);
    HAIRPIN_CHECK_OK(set(settings, name.substr(2), argv[i + 1]));
  }
  return settings;
}

void help() {
  fmt::print(
      "wanem [--OPTION VALUE] ...\n"
      "wanem --check      only says whether it may run here: exit code 0, or {} and why not\n\n"
      "Each of these but the last two also with up- (edge to cloud) or down- before it, and as a "
      "line\non standard input, without the dashes, while it runs. The line 'counts' asks for "
      "counts.\n\n{}",
      kNotPermitted, names_and_meanings());
}

int fail(int code, const Error& error) {
  fmt::print(stderr, "wanem: {}\n", error.message);
  return code;
}

int main(int argc, char** argv) {
  const std::string_view only = argc == 2 ? argv[1] : "";
  if (only == "--help") return help(), 0;
  const bool check = only == "--check";
  const auto settings = check ? Settings{} : settings_from(argc, argv);
  if (!settings) return fail(2, settings.error());
  const int mtu = static_cast<int>(settings->mtu);
  const auto edge = Network::make(kEdge, kCloud, mtu);
  if (!edge) return fail(kNotPermitted, edge.error());
  const auto cloud = Network::make(kCloud, kEdge, mtu);
  if (!cloud) return fail(kNotPermitted, cloud.error());
  if (!check) run(*edge, *cloud, *settings);
  return 0;
}

}  // namespace
}  // namespace hairpin::wan

int main(int argc, char** argv) { return hairpin::wan::main(argc, argv); }

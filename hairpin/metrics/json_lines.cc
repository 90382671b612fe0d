#include "hairpin/metrics/json_lines.h"

#include <cmath>
#include <utility>

#include "hairpin/metrics/json_text.h"

namespace hairpin::metrics {
namespace {

std::string number(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : "null";  // fmt's {}: shortest exact
}

std::string object(const RankMemory& rank) {
  return fmt::format(
      R"({{"rank": {}, "peak": {}, "weights": {}, "gradients": {}, "optimizer": {}, )"
      R"("activations": {}, "link": {}, "largest": {}}})",
      json_text(rank.rank), rank.peak, rank.weights, rank.gradients, rank.optimizer,
      rank.activations, rank.link, rank.largest);
}

std::string object(const LinkUse& use) {
  return fmt::format(R"({{"queueing_seconds": {}, "transfer_seconds": {}, "idle_seconds": {}}})",
                     number(use.queueing_seconds), number(use.transfer_seconds),
                     number(use.idle_seconds));
}

std::string array(const std::vector<RankMemory>& ranks) {
  std::string out;
  for (const auto& rank : ranks) out += (out.empty() ? "[" : ", ") + object(rank);
  return out + "]";
}

}  // namespace

std::string to_json(const StepRecord& record) {
  auto out = fmt::format("{{\"step\": {}", record.step);
  const auto add = [&](const char* name, const std::string& value) {
    out += fmt::format(", \"{}\": {}", name, value);
  };
  if (record.loss) add("loss", number(*record.loss));
  add("grad_norm", number(record.grad_norm));
  add("learning_rate", number(record.learning_rate));
  add("tokens", std::to_string(record.tokens));
  add("trained_tokens", std::to_string(record.trained_tokens));
  if (record.skipped) add("skipped", json_text(reason_of(*record.skipped)));
  add("step_seconds", number(record.step_seconds));
  add("tokens_per_second", number(record.tokens_per_second));
  add("link_bytes_up", std::to_string(record.link_bytes_up));
  add("link_bytes_down", std::to_string(record.link_bytes_down));
  if (record.link_up) add("link_up", object(*record.link_up));
  if (record.link_down) add("link_down", object(*record.link_down));
  if (record.rtt_seconds) add("rtt_seconds", number(*record.rtt_seconds));
  if (const auto rate = record.link_up_bytes_per_second)
    add("link_up_bytes_per_second", number(*rate));
  if (const auto rate = record.link_down_bytes_per_second)
    add("link_down_bytes_per_second", number(*rate));
  const auto add_moved = [&](const char* name, std::optional<std::uint64_t> bytes) {
    if (bytes) add(name, std::to_string(*bytes));
  };
  add_moved("tp_bytes", record.tp_bytes);
  add_moved("dp_bytes", record.dp_bytes);
  add_moved("pp_bytes", record.pp_bytes);
  add("peak_memory_bytes", std::to_string(record.peak_memory_bytes));
  add("bubble", number(record.bubble));
  if (!record.tensor_memory.empty()) add("tensor_memory", array(record.tensor_memory));
  return out + "}";
}

Result<std::unique_ptr<JsonLinesSink>> JsonLinesSink::create(const std::filesystem::path& path) {
  HAIRPIN_TRY(auto file, LineFile::create(path));
  return std::unique_ptr<JsonLinesSink>(new JsonLinesSink(std::move(file)));
}

}  // namespace hairpin::metrics

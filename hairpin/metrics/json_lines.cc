#include "hairpin/metrics/json_lines.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "hairpin/base/check.h"
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

std::string array(const std::vector<RankMemory>& ranks) {
  std::string out;
  for (const auto& rank : ranks) out += (out.empty() ? "[" : ", ") + object(rank);
  return out + "]";
}

tl::unexpected<Error> write_failed(const std::filesystem::path& path) {
  return fail(ErrorKind::internal, "{}: cannot write: {}; free some space and start again",
              path.string(), std::strerror(errno));
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
  auto* file = std::fopen(path.c_str(), "wxe");
  if (file == nullptr)
    return bad_input("{}: cannot create: {}; give another output directory", path.string(),
                     std::strerror(errno));
  return std::unique_ptr<JsonLinesSink>(new JsonLinesSink(path, file));
}

Result<void> JsonLinesSink::write(const StepRecord& record) {
  HAIRPIN_CHECK(file_ != nullptr, "{}: written to after finish", path_.string());
  const auto line = to_json(record) + "\n";
  if (std::fwrite(line.data(), 1, line.size(), file_.get()) != line.size() ||
      std::fflush(file_.get()) != 0)
    return write_failed(path_);
  return {};
}

Result<void> JsonLinesSink::finish() {
  if (auto* file = file_.release(); file != nullptr && std::fclose(file) != 0)
    return write_failed(path_);
  return {};
}

}  // namespace hairpin::metrics

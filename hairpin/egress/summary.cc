#include <nlohmann/json.hpp>

#include "hairpin/egress/log.h"

namespace hairpin::egress {

std::string summary_text(const Summary& summary) {
  auto text = fmt::format("{:<24}{:>10}{:>16}\n", "sent by the edge", "frames", "bytes");
  const auto row = [&](const std::string& name, const Totals& totals) {
    text += fmt::format("{:<24}{:>10}{:>16}\n", name, totals.frames, totals.bytes);
  };
  for (const auto& [name, totals] : summary.by_type) row(name, totals);
  row("all", summary.all);
  text += fmt::format("from {} to {}\n", summary.first_time, summary.last_time);
  text += summary.closed
              ? "the chain is unbroken and closed: no frame is missing\n"
              : "the chain is unbroken but not closed: the run was killed or still goes on, and "
                "frames after the last line would not be noticed\n";
  text += fmt::format("last hash {}\n", summary.last_hash);
  return text;
}

std::string summary_json(const Summary& summary) {
  const auto totals = [](const Totals& t) {
    return nlohmann::ordered_json{{"frames", t.frames}, {"bytes", t.bytes}};
  };
  nlohmann::ordered_json json{{"lines", summary.lines},
                              {"closed", summary.closed},
                              {"first_time", summary.first_time},
                              {"last_time", summary.last_time},
                              {"last_hash", summary.last_hash},
                              {"all", totals(summary.all)},
                              {"by_type", nlohmann::ordered_json::object()}};
  for (const auto& [name, sums] : summary.by_type) json["by_type"][name] = totals(sums);
  return json.dump(2) + "\n";
}

}  // namespace hairpin::egress

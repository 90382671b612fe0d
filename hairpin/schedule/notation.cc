#include "hairpin/schedule/notation.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "hairpin/base/check.h"

namespace hairpin::schedule {
namespace {

// Takes a number without sign or leading zero off the front of TEXT.
std::optional<int> take_number(std::string_view& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto length = static_cast<std::size_t>(end - text.data());
  if (error != std::errc{} || text.front() == '-' || (text.front() == '0' && length > 1))
    return std::nullopt;
  text.remove_prefix(length);
  return value;
}

// Takes the letters off the front of TEXT: capitals, and the i or w of a split backward.
std::string_view take_name(std::string_view& text) {
  const auto is_letter = [](char c) { return c >= 'A' && c <= 'Z'; };
  auto length = static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_letter) -
                                         text.begin());
  if (length > 0 && length < text.size() && (text[length] == 'i' || text[length] == 'w')) ++length;
  const std::string_view name = text.substr(0, length);
  text.remove_prefix(length);
  return name;
}

}  // namespace

std::string Notation::text(const Op& op) const {
  const bool forward = op.kind == OpKind::forward;
  const char* name = forward ? "F" : "B";
  if (edge_names_ && op.stage == 0) name = forward ? "FS" : "BE";
  if (edge_names_ && op.stage == num_stages_ - 1) name = forward ? "FE" : "BS";
  const char* part = op.kind == OpKind::backward_input    ? "i"
                     : op.kind == OpKind::backward_weight ? "w"
                                                          : "";
  return domains_ ? fmt::format("{}{}{}.{}", name, part, op.microbatch + 1, op.domain)
                  : fmt::format("{}{}{}", name, part, op.microbatch + 1);
}

Result<Op> parse_op(const Schedule& layout, int rank, std::string_view text) {
  if (rank < 0 || rank >= layout.num_ranks())
    return bad_input("op \"{}\": there is no rank {}; ranks are 0 to {}", text, rank,
                     layout.num_ranks() - 1);
  const bool with_domain = layout.domains > 1;
  std::string_view rest = text;
  const std::string_view name = take_name(rest);
  const auto number = take_number(rest);
  std::optional<int> domain = 0;
  if (with_domain) {
    const bool dot = rest.starts_with('.');
    rest.remove_prefix(dot ? 1 : 0);
    domain = dot ? take_number(rest) : std::nullopt;
  }
  if (name.empty() || !number || !domain || !rest.empty())
    return bad_input("\"{}\" is not an op; write it like {}", text, with_domain ? "F1.0" : "F1");
  if (*number < 1 || *number > layout.microbatches)
    return bad_input("op \"{}\": microbatches are 1 to {}", text, layout.microbatches);
  if (*domain >= layout.domains)
    return bad_input("op \"{}\": domains are 0 to {}", text, layout.domains - 1);
  const Notation notation(layout.num_stages(), layout.is_hairpin(), with_domain);
  for (const int stage : layout.stages_of(rank))
    for (const OpKind kind : {OpKind::forward, layout.backward_of(stage), OpKind::backward_weight})
      if (const Op op{kind, stage, *number - 1, *domain};
          notation.text(op) == text && layout.has_kind(op))
        return op;
  return bad_input("op \"{}\": rank {} has no op called \"{}\"", text, rank, name);
}

std::vector<std::string> rank_labels(const Schedule& schedule) {
  std::vector<std::string> labels;
  for (int rank = 0; rank < schedule.num_ranks(); ++rank) {
    const int replica = schedule.replica_of(rank);
    if (schedule.is_edge(rank)) {
      labels.push_back(schedule.edge_ranks > 1 ? fmt::format("edge replica {}", replica) : "edge");
      continue;
    }
    std::string label =
        fmt::format("{} {}", schedule.is_hairpin() ? "cloud" : "rank", schedule.position_of(rank));
    if (schedule.domains > 1) label += fmt::format(" domain {}", replica);
    labels.push_back(std::move(label));
  }
  return labels;
}

std::string ops_table(const std::vector<std::vector<Op>>& lists,
                      std::span<const std::string> labels, const Notation& notation) {
  HAIRPIN_CHECK(labels.size() == lists.size(), "{} labels for {} lists", labels.size(),
                lists.size());
  std::size_t width = 0;
  for (const auto& label : labels) width = std::max(width, label.size());
  std::string table;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    table += fmt::format("{:<{}} ", labels[i], width);
    for (const Op& op : lists[i]) table += ' ' + notation.text(op);
    table += '\n';
  }
  return table;
}

std::string ops_json(const std::vector<std::vector<Op>>& lists, const Notation& notation) {
  auto ranks = nlohmann::json::array();
  for (const auto& list : lists) {
    auto texts = nlohmann::json::array();
    for (const Op& op : list) texts.push_back(notation.text(op));
    ranks.push_back(std::move(texts));
  }
  return nlohmann::json{{"ranks", std::move(ranks)}}.dump() + "\n";
}

}  // namespace hairpin::schedule

#include "hairpin/config/job.h"

#include <algorithm>

#include "hairpin/base/file.h"
#include "hairpin/base/nearest.h"
#include "hairpin/config/consistency.h"
#include "hairpin/config/field.h"
#include "hairpin/config/not_built.h"

namespace hairpin::config {
namespace {

constexpr std::uint64_t kMaxFileSize = std::uint64_t{1} << 20;

tl::unexpected<Error> unknown_table(const TableMark& mark) {
  if (const auto nearest = nearest_word(mark.name, table_names()))
    return bad_input("{}: [{}]: unknown table; did you mean [{}]?", mark.where, mark.name,
                     *nearest);
  return bad_input("{}: [{}]: unknown table; remove it, or see docs/config.md for the tables",
                   mark.where, mark.name);
}

Result<void> check_table_names(const Document& document) {
  const auto known = table_names();
  for (const auto& mark : document.tables) {
    if (find_not_built(mark.name, "") != nullptr)
      return bad_input("{}: [{}]: not built yet; remove the table", mark.where, mark.name);
    if (std::find(known.begin(), known.end(), mark.name) == known.end()) return unknown_table(mark);
  }
  return {};
}

tl::unexpected<Error> unknown_key(const Entry& entry) {
  std::vector<std::string> here;
  for (const auto& field : fields()) {
    if (field.table == entry.table) here.push_back(field.key);
  }
  for (const auto& feature : not_built()) {
    if (feature.table == entry.table) here.push_back(feature.key);
  }
  const auto start = fmt::format("{}: [{}] {}: unknown key", entry.where, entry.table, entry.key);
  if (const auto nearest = nearest_word(entry.key, here))
    return bad_input("{}; did you mean \"{}\"?", start, *nearest);
  for (const auto& field : fields()) {
    if (field.key == entry.key) return bad_input("{}; it belongs in [{}]", start, field.table);
  }
  return bad_input("{}; remove it, or see docs/config.md for the keys of [{}]", start, entry.table);
}

Result<void> check_not_built(const Entry& entry, const NotBuilt& feature) {
  if (feature.neutral == entry.value) return {};
  const auto start =
      fmt::format("{}: [{}] {} = {}", entry.where, entry.table, entry.key, to_toml(entry.value));
  if (!feature.neutral) return bad_input("{}: not built yet; remove the key", start);
  return bad_input("{}: not built yet; remove the key or give {}", start,
                   to_toml(*feature.neutral));
}

Result<void> store(const Entry& entry, Job& job) {
  for (const auto& field : fields()) {
    if (field.table != entry.table || field.key != entry.key) continue;
    if (const auto complaint = field.store(entry.value, job))
      return bad_input("{}: [{}] {} = {}: {}", entry.where, entry.table, entry.key,
                       to_toml(entry.value), *complaint);
    return {};
  }
  if (const auto* feature = find_not_built(entry.table, entry.key))
    return check_not_built(entry, *feature);
  return unknown_key(entry);
}

}  // namespace

Result<Job> parse_job(std::string_view toml, const std::filesystem::path& file,
                      const std::vector<std::string>& overrides) {
  if (toml.size() > kMaxFileSize)
    return bad_input("{}: {} bytes; a job is at most {}", file.string(), toml.size(), kMaxFileSize);
  HAIRPIN_TRY(auto document, parse_document(toml, file));
  for (const auto& text : overrides) HAIRPIN_CHECK_OK(apply_override(text, document));
  HAIRPIN_CHECK_OK(check_table_names(document));

  Job job{.file = file};
  if (document.find_table("split") == nullptr) job.schedule.kind = "1f1b";
  for (const auto& entry : document.entries) HAIRPIN_CHECK_OK(store(entry, job));
  HAIRPIN_CHECK_OK(check_consistency(job, document));
  return job;
}

Result<Job> load_job(const std::filesystem::path& file, const std::vector<std::string>& overrides) {
  HAIRPIN_TRY(const auto text, read_text_file(file, kMaxFileSize));
  return parse_job(text, file, overrides);
}

std::string resolved_toml(const Job& job) {
  std::string out;
  std::string_view table;
  for (const auto& field : fields()) {
    if (!table_applies(field.table, job.split.has_value())) continue;
    if (field.table != table) out += fmt::format("{}[{}]\n", out.empty() ? "" : "\n", field.table);
    table = field.table;
    const auto value = field.value_in(job);
    const bool none = !value || *value == Value(std::string());  // no key takes an empty string
    out += none ? fmt::format("# {}: none\n", field.key)
                : fmt::format("{} = {}\n", field.key, to_toml(*value));
  }
  return out;
}

}  // namespace hairpin::config

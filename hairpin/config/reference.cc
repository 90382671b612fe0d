#include "hairpin/config/reference.h"

#include "hairpin/config/field.h"
#include "hairpin/config/not_built.h"

namespace hairpin::config {
namespace {

std::string default_text(const Field& field) {
  if (field.required) return "required";
  Job defaults;
  defaults.split.emplace();
  const auto value = field.value_in(defaults);
  return value && *value != Value(std::string()) ? fmt::format("`{}`", to_toml(*value)) : "none";
}

std::string section(const std::string& table) {
  auto out =
      fmt::format("### [{}]\n\n| key | takes | default | meaning |\n|---|---|---|---|\n", table);
  for (const auto& field : fields())
    if (field.table == table)
      out += fmt::format("| `{}` | {} | {} | {} |\n", field.key, field.takes, default_text(field),
                         field.meaning);
  return out + "\n";
}

std::string not_built_section() {
  std::string out = "### Not built yet\n\n| table | key | accepted |\n|---|---|---|\n";
  for (const auto& feature : not_built())
    out +=
        fmt::format("| [{}] | {} | {} |\n", feature.table,
                    feature.key.empty() ? "all" : fmt::format("`{}`", feature.key),
                    feature.neutral ? fmt::format("`{}`", to_toml(*feature.neutral)) : "nothing");
  return out;
}

}  // namespace

std::string reference_markdown() {
  std::string out;
  for (const auto& table : table_names()) out += section(table);
  return out + not_built_section();
}

}  // namespace hairpin::config

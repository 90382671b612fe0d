#include "hairpin/config/document.h"

#define TOML_EXCEPTIONS 0
// A check of the parser's own must not end the process on a user's typo: its next lines report the
// error. fuzz/job_fuzzer.cc shows that nothing else hung on them.
#define TOML_ASSERT(condition) static_cast<void>(0)
#include <toml++/toml.h>

#include <algorithm>
#include <utility>

#include "hairpin/config/ascii_toml.h"

namespace hairpin::config {
namespace {

// The list's whole numbers; anything else in it makes it a form of its own.
Value list_value(const toml::array& list) {
  Integers integers;
  for (const auto& element : list) {
    const auto* integer = element.as_integer();
    if (integer == nullptr) return OtherForm{"a list of other things than whole numbers"};
    integers.push_back(integer->get());
  }
  return integers;
}

Value to_value(const toml::node& node) {
  if (const auto* value = node.as_boolean()) return value->get();
  if (const auto* value = node.as_integer()) return value->get();
  if (const auto* value = node.as_floating_point()) return value->get();
  if (const auto* value = node.as_string()) return value->get();
  if (const auto* value = node.as_array()) return list_value(*value);
  if (node.is_table()) return OtherForm{"a table"};
  return OtherForm{"a date or time"};
}

// A toml++ error as a sentence: its description, which may span lines, in one line.
std::string one_line(std::string_view description) {
  std::string text(description);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

// The value of an override. What isn't TOML is a bare word if it doesn't begin like a quoted
// string, a list or a table: then the mistake would be hidden.
Result<Value> parse_override_value(std::string_view text, std::string_view where) {
  const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (text.empty() || std::any_of(text.begin(), text.end(), is_control))
    return bad_input("{}: no usable value after '='; write table.key=value in one line", where);
  const auto ascii = to_ascii_toml(fmt::format("value = {}", text));
  const auto parsed = toml::parse(ascii.value_or("value ="));
  if (parsed) return to_value(*parsed.table().get("value"));
  if (std::string_view("\"'[{#").find(text.front()) != std::string_view::npos)
    return bad_input("{}: the value is not TOML: {}", where,
                     ascii ? one_line(parsed.error().description()) : ascii.error().reason);
  if (!to_ascii_toml(to_toml(std::string(text))))
    return bad_input("{}: the value is not UTF-8 text; correct the override", where);
  return std::string(text);
}

// Line and column. toml++ keeps keys in alphabetical order; people read a file from its top.
using Place = std::pair<std::uint32_t, std::uint32_t>;
Place place_of(const toml::node& node) {
  return {node.source().begin.line, node.source().begin.column};
}

template <class Item>
std::vector<Item> in_order(std::vector<std::pair<Place, Item>> items) {
  std::sort(items.begin(), items.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Item> out;
  for (auto& [place, item] : items) out.push_back(std::move(item));
  return out;
}

}  // namespace

const Entry* Document::find(std::string_view table, std::string_view key) const {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) {
    return entry.table == table && entry.key == key;
  });
  return found == entries.end() ? nullptr : &*found;
}

const TableMark* Document::find_table(std::string_view table) const {
  const auto found = std::find_if(tables.begin(), tables.end(),
                                  [&](const TableMark& mark) { return mark.name == table; });
  return found == tables.end() ? nullptr : &*found;
}

Result<Document> parse_document(std::string_view toml, const std::filesystem::path& file) {
  const auto ascii = to_ascii_toml(toml);
  if (!ascii)
    return bad_input("{}:{}: {}", file.string(), ascii.error().line, ascii.error().reason);
  const auto parsed = toml::parse(*ascii);
  if (!parsed) {
    const auto& at = parsed.error().source().begin;
    return bad_input("{}:{}: column {}: not TOML: {}", file.string(), at.line, at.column,
                     one_line(parsed.error().description()));
  }
  std::vector<std::pair<Place, TableMark>> tables;
  std::vector<std::pair<Place, Entry>> entries;
  for (const auto& [name, node] : parsed.table()) {
    const auto where = [&](const toml::node& at) {
      return fmt::format("{}:{}", file.string(), at.source().begin.line);
    };
    const auto* table = node.as_table();
    if (table == nullptr)
      return bad_input("{}: {}: not in a table; every key belongs to one, such as [train]",
                       where(node), name.str());
    tables.push_back({place_of(node), {std::string(name.str()), where(node)}});
    for (const auto& [key, value] : *table)
      entries.push_back(
          {place_of(value),
           {std::string(name.str()), std::string(key.str()), to_value(value), where(value)}});
  }
  return Document{file.string(), in_order(std::move(tables)), in_order(std::move(entries))};
}

Result<void> apply_override(std::string_view text, Document& document) {
  const auto where = fmt::format("--set {}", text);
  const auto equals = text.find('=');
  const auto name = text.substr(0, equals);
  const auto dot = name.find('.');
  if (equals == std::string_view::npos || dot == std::string_view::npos || dot == 0 ||
      dot + 1 == name.size() || name.find('.', dot + 1) != std::string_view::npos)
    return bad_input("{}: not an override; write table.key=value, as in train.steps=50", where);
  HAIRPIN_TRY(auto value, parse_override_value(text.substr(equals + 1), where));
  Entry entry{std::string(name.substr(0, dot)), std::string(name.substr(dot + 1)), std::move(value),
              where};
  if (document.find_table(entry.table) == nullptr) document.tables.push_back({entry.table, where});
  if (const auto* old = document.find(entry.table, entry.key)) {
    document.entries[static_cast<std::size_t>(old - document.entries.data())] = std::move(entry);
  } else {
    document.entries.push_back(std::move(entry));
  }
  return {};
}

}  // namespace hairpin::config

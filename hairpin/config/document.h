// A job file's text as a flat list of entries, each knowing where it was written. TOML syntax ends
// here: the rest of config/ sees tables, keys and values only.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "hairpin/base/result.h"
#include "hairpin/config/value.h"

namespace hairpin::config {

struct Entry {
  std::string table, key;
  Value value;
  std::string where;  // "job.toml:12" or "--set train.steps=50"
};

// A [table] that is present, with or without keys.
struct TableMark {
  std::string name;
  std::string where;
};

// Both lists are in the order of the source lines.
struct Document {
  std::string file;
  std::vector<TableMark> tables;
  std::vector<Entry> entries;

  const Entry* find(std::string_view table, std::string_view key) const;  // null: not given
  const TableMark* find_table(std::string_view table) const;
};

// Syntax errors, keys outside a table and nested tables are errors with line (and column).
Result<Document> parse_document(std::string_view toml, const std::filesystem::path& file);

// "table.key=value": replaces the entry of that name or adds it (and its table).
Result<void> apply_override(std::string_view text, Document& document);

}  // namespace hairpin::config

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "hairpin/base/file.h"
#include "hairpin/egress/line.h"
#include "hairpin/egress/log.h"

namespace hairpin::egress {
namespace {

using Json = nlohmann::json;
using Fault = std::optional<std::string>;  // what is wrong with a line

// A field that must be there with that type; empty otherwise.
std::optional<std::uint64_t> number(const Json& record, const char* key) {
  const auto found = record.find(key);
  if (found == record.end() || !found->is_number_unsigned()) return std::nullopt;
  return found->get<std::uint64_t>();
}
std::optional<std::string> word(const Json& record, const char* key) {
  const auto found = record.find(key);
  if (found == record.end() || !found->is_string()) return std::nullopt;
  auto text = found->get<std::string>();
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("-:.").find(c) != std::string_view::npos;
  };
  if (text.empty() || !std::ranges::all_of(text, plain)) return std::nullopt;
  return text;
}

std::optional<Json> parse(std::string_view line) {
  auto record = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!record.is_object()) return std::nullopt;
  return record;
}

class Verifier {
 public:
  explicit Verifier(std::string_view text) : rest_(text) {}

  // Checks the next line and moves on; a fault is about line `summary().lines`.
  Fault next() {
    const auto end = rest_.find('\n');
    const auto line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    ++summary_.lines;
    if (end == std::string_view::npos) return "the last line is cut short";
    if (summary_.closed) return "there is a line after the closing record";
    if (line.size() > kMaxLineBytes) return "the line is too long to be one of this log";
    if (auto fault = check_text(line)) return fault;
    const auto record = parse(line);
    if (!record) return "the line was edited: it is not a JSON object";
    if (auto fault = check_place(*record)) return fault;
    previous_ = hash_of_line(line)->hash;
    return count(*record);
  }
  bool at_end() const { return rest_.empty(); }

  Summary summary() const {
    auto summary = summary_;
    summary.last_hash = previous_;
    return summary;
  }
  std::uint64_t line() const { return summary_.lines; }

 private:
  Fault check_text(std::string_view line) const {
    const auto hash = hash_of_line(line);
    if (!hash) return "the line was edited: it does not end in its hash";
    if (!hash->right) return "the line was edited: its hash does not fit its text";
    return std::nullopt;
  }

  // The line itself is whole; is it in its place?
  Fault check_place(const Json& record) const {
    const auto sequence = number(record, "sequence");
    const auto previous = word(record, "previous");
    if (!sequence || !previous) return "the line has no sequence or no previous hash";
    const auto due = summary_.lines - 1;
    if (*sequence < due)
      return fmt::format("line {} of the log stands here again or too late", *sequence + 1);
    if (*sequence > due && comes_later(due))
      return fmt::format("lines were reordered: line {} of the log stands here", *sequence + 1);
    if (*sequence > due)
      return fmt::format("lines were removed: {} missing before it", *sequence - due);
    if (*previous != previous_)
      return "the line does not follow the one before it: that one was replaced";
    return std::nullopt;
  }

  bool comes_later(std::uint64_t sequence) const {
    const auto start = fmt::format("{{\"sequence\":{},", sequence);
    return rest_.find("\n" + start) != std::string_view::npos || rest_.starts_with(start);
  }

  Fault count(const Json& record) {
    const auto type = word(record, "type");
    const auto time = word(record, "time");
    if (!type || !time) return "the line has no type or no time";
    if (summary_.lines == 1) summary_.first_time = *time;
    summary_.last_time = *time;
    if ((summary_.lines == 1) != (*type == "open")) return "the opening record is not in its place";
    if (*type == "open") {
      if (number(record, "format") == std::uint64_t{kFormat}) return std::nullopt;
      return fmt::format("this release reads format {} only", kFormat);
    }
    if (*type == "close") return check_close(record);
    const auto bytes = number(record, "bytes");
    if (!bytes) return "the line has no number of bytes";
    const auto kind = word(record, "kind");
    for (auto* totals : {&summary_.all, &summary_.by_type[kind ? *type + "/" + *kind : *type]}) {
      ++totals->frames;
      totals->bytes += *bytes;
    }
    return std::nullopt;
  }

  Fault check_close(const Json& record) {
    summary_.closed = true;
    if (number(record, "frames") == summary_.all.frames &&
        number(record, "frame_bytes") == summary_.all.bytes)
      return std::nullopt;
    return "the closing record's counts are not those of the lines before it";
  }

  std::string_view rest_;
  std::string previous_ = first_previous();
  Summary summary_;
};

}  // namespace

Result<Summary> verify(const std::filesystem::path& path) {
  HAIRPIN_TRY(const auto file, MappedFile::open(path));
  Verifier verifier(as_text(file.bytes()));
  if (verifier.at_end())
    return bad_input("{}: empty, so not an egress log; name the egress.jsonl of an edge's run",
                     path.string());
  while (!verifier.at_end())
    if (const auto fault = verifier.next())
      return bad_input("{}:{}: {}; nothing from this line on is proved", path.string(),
                       verifier.line(), *fault);
  return verifier.summary();
}

}  // namespace hairpin::egress

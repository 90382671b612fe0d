#include <algorithm>
#include <optional>
#include <utility>

#include "hairpin/base/file.h"
#include "hairpin/base/log.h"
#include "hairpin/samples/chat_line.h"
#include "hairpin/samples/dataset.h"
#include "hairpin/tokenizer/chat_tokenizer.h"

namespace hairpin::samples {
namespace {

constexpr std::size_t kMaxLine = std::size_t{16} << 20;
constexpr std::int64_t kMostLogged = 10;

// The lines of a text, without their "\n" (JSON takes a "\r" as white space); a last one without it
// counts too.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}
  std::optional<std::string_view> next() {
    if (rest_.empty()) return std::nullopt;
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    const std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return line;
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

class Loader {
 public:
  Loader(const std::filesystem::path& file, const tokenizer::ChatTokenizer& tokenizer,
         const LoadOptions& options)
      : file_(file.string()), tokenizer_(tokenizer), options_(options) {}

  Result<Dataset> load(std::string_view text) {
    for (Lines lines(text); const auto line = lines.next();) {
      ++line_;
      if (lines.at_end() && is_blank(*line)) break;  // editors leave one
      HAIRPIN_CHECK_OK(add(*line));
    }
    log_rest();
    if (data_.samples.empty())
      return bad_input("{}: no sample left of {} lines; give a file with usable samples", file_,
                       line_);
    data_.report.samples = static_cast<std::int64_t>(data_.samples.size());
    return std::move(data_);
  }

 private:
  Result<void> add(std::string_view line) {
    auto sample = read(line);
    if (!sample) return bad(sample.error().message);
    const auto length = static_cast<std::int64_t>(sample->tokens.size());
    if (length > options_.sequence_length) {
      if (options_.on_long != LoadOptions::Long::truncate) return too_long(length);
      const auto kept = static_cast<std::size_t>(options_.sequence_length);
      sample->tokens.resize(kept);
      sample->trained.resize(kept);
      ++data_.report.too_long;
    }
    const auto trained = std::ranges::count(sample->trained, true);
    if (trained == 0)
      return bad(length > options_.sequence_length
                     ? "nothing to train on is left after truncation to data.sequence_length"
                     : "nothing to train on");
    data_.report.tokens += static_cast<std::int64_t>(sample->tokens.size());
    data_.report.trained_tokens += trained;
    data_.samples.push_back(std::move(*sample));
    return {};
  }

  Result<Sample> read(std::string_view line) const {
    if (line.size() > kMaxLine)
      return bad_input("the line has {} bytes, more than {}", line.size(), kMaxLine);
    if (is_blank(line)) return bad_input("the line is blank");
    HAIRPIN_TRY(const auto messages, parse_chat_line(line));
    HAIRPIN_TRY(auto rendered, tokenizer_.render(messages));
    return Sample{std::move(rendered.tokens), std::move(rendered.trained)};
  }

  Result<void> bad(std::string_view reason) {
    if (!options_.skip_bad)
      return bad_input("{}:{}: {}; {}", file_, line_, reason, options_.bad_advice);
    ++data_.report.bad;
    log_skipped(reason);
    return {};
  }

  Result<void> too_long(std::int64_t length) {
    if (options_.on_long == LoadOptions::Long::fail)
      return bad_input("{}:{}: {} tokens, more than {} = {}; {}", file_, line_, length,
                       options_.length_name, options_.sequence_length, options_.long_advice);
    ++data_.report.too_long;
    log_skipped(fmt::format("{} tokens, more than data.sequence_length = {}", length,
                            options_.sequence_length));
    return {};
  }

  void log_skipped(std::string_view reason) {
    if (++skipped_ <= kMostLogged) log::warning("{}:{}: skipped: {}", file_, line_, reason);
  }
  void log_rest() const {
    if (skipped_ > kMostLogged)
      log::warning("{}: {} more lines skipped", file_, skipped_ - kMostLogged);
    const auto cut = data_.report.too_long;
    if (options_.on_long == LoadOptions::Long::truncate && cut > 0)
      log::warning("{}: {} samples truncated to data.sequence_length = {}", file_, cut,
                   options_.sequence_length);
  }

  const std::string file_;
  const tokenizer::ChatTokenizer& tokenizer_;
  const LoadOptions options_;
  Dataset data_;
  std::int64_t line_ = 0;
  std::int64_t skipped_ = 0;
};

}  // namespace

Result<Dataset> load_chat_jsonl(const std::filesystem::path& file,
                                const tokenizer::ChatTokenizer& tokenizer,
                                const LoadOptions& options) {
  HAIRPIN_TRY(const auto mapped, MappedFile::open(file));
  return Loader(file, tokenizer, options).load(as_text(mapped.bytes()));
}

}  // namespace hairpin::samples

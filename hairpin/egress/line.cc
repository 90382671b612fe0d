#include "hairpin/egress/line.h"

#include <fmt/core.h>

#include "hairpin/base/hash.h"

namespace hairpin::egress {
namespace {

constexpr std::string_view kHashKey = ",\"hash\":\"";
constexpr std::string_view kEnd = "\"}";
constexpr std::size_t kHexDigits = 64;

std::string hash_of_text(std::string_view text) { return to_hex(sha256(as_byte_span(text))); }

// What a message is about. Names and numbers only, so nothing here needs escaping.
struct Fields {
  std::string operator()(const wire::TensorMessage& m) const {
    return fmt::format(
        R"(,"kind":"{}","step":{},"microbatch":{},"boundary":{},"domain":{},"shape":[{},{}],)"
        R"("dtype":"{}","codec":"{}","payload_bytes":{})",
        m.kind == wire::TensorKind::activation ? "activation" : "gradient", m.step, m.microbatch,
        m.boundary, m.domain, m.shape[0], m.shape[1], dtype_name(m.dtype),
        wire::codec_name(m.codec), m.payload.size());
  }
  std::string operator()(const wire::Manifest& m) const {
    return fmt::format(R"(,"step":{},"microbatches":{})", m.step, m.microbatches.size());
  }
  std::string operator()(const wire::StepScalars& m) const {
    return fmt::format(R"(,"step":{})", m.step);
  }
  std::string operator()(const wire::StepTimes& m) const {
    return fmt::format(R"(,"step":{})", m.step);
  }
  std::string operator()(const wire::ContractOffer& m) const {
    return fmt::format(R"(,"fields":{})", m.fields.size());
  }
  std::string operator()(const wire::WeightsManifest& m) const {
    return fmt::format(R"(,"entries":{})", m.entries.size());
  }
  std::string operator()(const wire::WeightsChunk& m) const {
    return fmt::format(R"(,"entry":{},"payload_bytes":{})", m.entry, m.payload.size());
  }
  std::string operator()(const wire::Refusal& m) const {
    return fmt::format(R"(,"exit_code":{})", m.exit_code);
  }
  template <class Other>  // hello, weights-request, heartbeat, goodbye: nothing but the type
  std::string operator()(const Other&) const {
    return {};
  }
};

}  // namespace

std::string first_previous() { return std::string(kHexDigits, '0'); }

std::string chain_line(std::uint64_t sequence, std::string_view fields, std::string& hash) {
  auto line = fmt::format(R"({{"sequence":{},{},"previous":"{}")", sequence, fields, hash);
  hash = hash_of_text(line);
  line += kHashKey;
  line += hash;
  line += kEnd;
  return line;
}

std::string frame_fields(const wire::Message& message, std::uint64_t frame_bytes,
                         std::string_view time) {
  return fmt::format(R"("type":"{}","time":"{}","bytes":{}{})", wire::message_name(message), time,
                     frame_bytes, std::visit(Fields{}, message));
}

std::optional<LineHash> hash_of_line(std::string_view line) {
  const auto tail = kHashKey.size() + kHexDigits + kEnd.size();
  if (line.size() < tail || !line.ends_with(kEnd)) return std::nullopt;
  const auto text = line.substr(0, line.size() - tail);
  const auto rest = line.substr(text.size());
  if (!rest.starts_with(kHashKey)) return std::nullopt;
  const std::string hash(rest.substr(kHashKey.size(), kHexDigits));
  return LineHash{hash, hash == hash_of_text(text)};
}

}  // namespace hairpin::egress

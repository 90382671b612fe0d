#include "hairpin/hf/split_record.h"

#include <nlohmann/json.hpp>

#include "hairpin/base/file.h"
#include "hairpin/json/parse.h"

namespace hairpin::hf {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;

std::optional<Digest> digest_from_hex(const json& value) {
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  Digest digest;
  if (text.size() != digest.size() * 2) return std::nullopt;
  const auto nibble = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (std::size_t i = 0; i < digest.size(); ++i)
    digest[i] = static_cast<std::byte>(nibble(text[2 * i]) << 4 | nibble(text[2 * i + 1]));
  if (to_hex(digest) != text) return std::nullopt;  // anything but lower-case hex
  return digest;
}

std::optional<std::vector<std::int64_t>> layer_list(const json& value) {
  if (!value.is_array() || value.size() < 3) return std::nullopt;
  std::vector<std::int64_t> layers;
  for (const auto& item : value) {
    if (!item.is_number_unsigned() || item.get<std::uint64_t>() > (1u << 20)) return std::nullopt;
    layers.push_back(item.get<std::int64_t>());
  }
  return layers;
}

tl::unexpected<Error> damaged(std::string_view where, std::string_view key) {
  return bad_input("{}: {} is missing or wrong; split the model again", where, key);
}

}  // namespace

std::string_view half_name(Half half) { return half == Half::edge ? "edge" : "cloud"; }

bool same_cuts(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  return a.front() == b.front() && a.back() == b.back();
}

std::string encode(const SplitRecord& record) {
  nlohmann::ordered_json document;
  document["format"] = "hairpin split";
  document["version"] = kVersion;
  document["half"] = half_name(record.half);
  document["layers"] = record.layers;
  document["source_config_sha256"] = to_hex(record.source.config);
  document["source_weights_sha256"] = to_hex(record.source.weights);
  document["weights_sha256"] = to_hex(record.weights);
  return document.dump(2) + "\n";
}

Result<SplitRecord> decode(std::string_view text, std::string_view where) {
  HAIRPIN_TRY(const json document, hairpin::json::parse(text, where));
  const auto field = [&](const char* key) {
    return document.is_object() ? document.value(key, json()) : json();
  };
  if (field("format") != "hairpin split") return damaged(where, "format");
  if (field("version") != kVersion)
    return bad_input("{}: version {} is not the one this Hairpin reads, {}; split the model again",
                     where, hairpin::json::brief(field("version")), kVersion);
  SplitRecord record;
  const auto half = field("half");
  if (half != "edge" && half != "cloud") return damaged(where, "half");
  record.half = half == "edge" ? Half::edge : Half::cloud;
  auto layers = layer_list(field("layers"));
  if (!layers) return damaged(where, "layers");
  record.layers = std::move(*layers);
  const std::pair<const char*, Digest*> digests[] = {
      {"source_config_sha256", &record.source.config},
      {"source_weights_sha256", &record.source.weights},
      {"weights_sha256", &record.weights}};
  for (const auto& [key, target] : digests) {
    const auto digest = digest_from_hex(field(key));
    if (!digest) return damaged(where, key);
    *target = *digest;
  }
  return record;
}

Result<std::optional<SplitRecord>> read_split_record(const std::filesystem::path& directory) {
  const auto path = directory / kSplitFile;
  std::error_code code;
  if (!std::filesystem::exists(path, code)) return std::nullopt;
  HAIRPIN_TRY(const auto text, read_text_file(path, std::uint64_t{1} << 20));
  HAIRPIN_TRY(auto record, decode(text, path.string()));
  return std::optional(std::move(record));
}

}  // namespace hairpin::hf

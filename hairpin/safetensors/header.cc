#include "hairpin/safetensors/header.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "hairpin/base/check.h"
#include "hairpin/json/parse.h"

namespace hairpin::safetensors {
namespace {

using nlohmann::json;

constexpr std::string_view kMetadata = "__metadata__";
constexpr std::uint64_t kPrefix = sizeof(std::uint64_t);

Result<ByteSpan> header_text(ByteSpan file, std::string_view where) {
  ByteReader reader(file);
  const auto length = reader.number<std::uint64_t>();
  if (!reader.ok())
    return bad_input("{}: {} bytes are too few for a safetensors file", where, file.size());
  if (length > kMaxHeaderBytes)
    return bad_input(
        "{}: states a header of {} bytes, more than the format's {}; it is damaged or not a "
        "safetensors file",
        where, length, kMaxHeaderBytes);
  if (length > reader.remaining())
    return bad_input(
        "{}: states a header of {} bytes but ends after {}; it was cut short, fetch it again",
        where, length, reader.remaining());
  const auto text = reader.raw(length);
  if (text.empty() || text[0] != std::byte{'{'})
    return bad_input("{}: its header doesn't start with '{{'; it is not a safetensors file", where);
  return text;
}

Result<Metadata> read_metadata(const json& value, std::string_view where) {
  if (!value.is_object()) return bad_input("{}: {} is not an object of texts", where, kMetadata);
  Metadata metadata;
  for (const auto& [key, text] : value.items()) {
    if (!text.is_string()) return bad_input("{}: {}.{} is not a text", where, kMetadata, key);
    metadata[key] = text.get<std::string>();
  }
  return metadata;
}

// A list of non-negative integers that fit 63 bits.
std::optional<std::vector<std::int64_t>> naturals(const json& value) {
  if (!value.is_array()) return std::nullopt;
  std::vector<std::int64_t> numbers;
  for (const auto& item : value) {
    if (!item.is_number_unsigned() || item.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
    numbers.push_back(static_cast<std::int64_t>(item.get<std::uint64_t>()));
  }
  return numbers;
}

Result<Entry> read_entry(const std::string& name, const json& value, std::string_view where) {
  const std::array fields = {"dtype", "shape", "data_offsets"};
  if (!value.is_object() || value.size() != fields.size() ||
      !std::ranges::all_of(fields, [&](const char* field) { return value.contains(field); }))
    return bad_input("{}: tensor \"{}\" is not described by dtype, shape and data_offsets alone",
                     where, name);
  const auto& type = value["dtype"];
  const auto dtype =
      type.is_string() ? dtype_from_name(type.get_ref<const std::string&>()) : std::nullopt;
  if (!dtype)
    return bad_input("{}: tensor \"{}\" has the dtype {}, which Hairpin doesn't read", where, name,
                     hairpin::json::brief(type));
  auto shape = naturals(value["shape"]);
  if (!shape)
    return bad_input("{}: tensor \"{}\" has the shape {}, not a list of sizes", where, name,
                     hairpin::json::brief(value["shape"]));
  const auto offsets = naturals(value["data_offsets"]);
  if (!offsets || offsets->size() != 2 || (*offsets)[0] > (*offsets)[1])
    return bad_input("{}: tensor \"{}\" has the data_offsets {}, not a begin and an end", where,
                     name, hairpin::json::brief(value["data_offsets"]));
  Entry entry{{name, *dtype, std::move(*shape)},
              static_cast<std::uint64_t>((*offsets)[0]),
              static_cast<std::uint64_t>((*offsets)[1])};
  const auto size = byte_size(entry.tensor);
  if (size != entry.end - entry.begin)
    return bad_input("{}: tensor \"{}\" has {} bytes, but its shape {} in {} needs {}", where, name,
                     entry.end - entry.begin, hairpin::json::brief(value["shape"]),
                     dtype_name(*dtype),
                     size ? std::to_string(*size) : "more than 64 bits can count");
  return entry;
}

// Sorts the entries by place and proves that they tile `data_size` bytes.
Result<void> check_tiling(std::vector<Entry>& entries, std::uint64_t data_size,
                          std::string_view where) {
  std::ranges::stable_sort(entries, {}, [](const Entry& e) { return std::pair(e.begin, e.end); });
  std::uint64_t position = 0;
  for (const auto& entry : entries) {
    if (entry.begin != position)
      return bad_input(
          "{}: tensor \"{}\" starts at byte {} of the data, but the one before it ends at {}: they "
          "{}; the file is damaged",
          where, entry.tensor.name, entry.begin, position,
          entry.begin < position ? "overlap" : "leave a gap");
    if (entry.end > data_size)
      return bad_input(
          "{}: tensor \"{}\" ends at byte {} of the data, but there are only {}; the file was cut "
          "short, fetch it again",
          where, entry.tensor.name, entry.end, data_size);
    position = entry.end;
  }
  if (position != data_size)
    return bad_input("{}: {} bytes follow the last tensor; the file is damaged", where,
                     data_size - position);
  return {};
}

}  // namespace

std::optional<std::uint64_t> byte_size(const TensorInfo& tensor) {
  std::uint64_t product = dtype_size(tensor.dtype);
  bool empty = false;
  for (const auto extent : tensor.shape) {
    if (extent < 0) return std::nullopt;
    if (extent == 0) {
      empty = true;  // the others must not overflow all the same
    } else if (__builtin_mul_overflow(product, static_cast<std::uint64_t>(extent), &product)) {
      return std::nullopt;
    }
  }
  return empty ? 0 : product;
}

Result<Header> parse_header(ByteSpan file, std::string_view where) {
  HAIRPIN_TRY(const auto text, header_text(file, where));
  HAIRPIN_TRY(const auto document, hairpin::json::parse(as_text(text), where));
  Header header;
  header.data_begin = kPrefix + text.size();
  for (const auto& [name, value] : document.items()) {
    if (name == kMetadata) {
      HAIRPIN_TRY(header.metadata, read_metadata(value, where));
      continue;
    }
    HAIRPIN_TRY(auto entry, read_entry(name, value, where));
    header.entries.push_back(std::move(entry));
  }
  HAIRPIN_CHECK_OK(check_tiling(header.entries, file.size() - header.data_begin, where));
  return header;
}

Bytes encode_header(const std::vector<TensorInfo>& tensors, const Metadata& metadata) {
  std::string text = "{";
  std::set<std::string_view> names{kMetadata};
  if (!metadata.empty()) text += fmt::format("\"{}\":{}", kMetadata, json(metadata).dump());
  std::uint64_t position = 0;
  for (const auto& tensor : tensors) {
    HAIRPIN_CHECK(names.insert(tensor.name).second, "two tensors are named {}", tensor.name);
    const auto size = byte_size(tensor);
    HAIRPIN_CHECK(size.has_value(), "the size of {} overflows", tensor.name);
    text +=
        fmt::format("{}{}:{{\"dtype\":\"{}\",\"shape\":{},\"data_offsets\":[{},{}]}}",
                    text.size() > 1 ? "," : "", json(tensor.name).dump(), dtype_name(tensor.dtype),
                    json(tensor.shape).dump(), position, position + *size);
    position += *size;
  }
  text += "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  HAIRPIN_CHECK(text.size() <= kMaxHeaderBytes, "a header of {} bytes", text.size());
  Bytes bytes;
  ByteWriter writer(bytes);
  writer.number(static_cast<std::uint64_t>(text.size()));
  writer.raw(as_byte_span(text));
  return bytes;
}

}  // namespace hairpin::safetensors

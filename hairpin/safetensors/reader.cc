#include "hairpin/safetensors/reader.h"

#include <algorithm>

#include "hairpin/base/check.h"

namespace hairpin::safetensors {

Result<Reader> Reader::open(const std::filesystem::path& path) {
  HAIRPIN_TRY(auto file, MappedFile::open(path));
  HAIRPIN_TRY(auto header, parse_header(file.bytes(), path.string()));
  return Reader(std::move(file), std::move(header));
}

const Entry* Reader::find(std::string_view name) const {
  const auto found = std::ranges::find_if(
      header_.entries, [&](const Entry& entry) { return entry.tensor.name == name; });
  return found == header_.entries.end() ? nullptr : &*found;
}

ByteSpan Reader::bytes(const Entry& entry) const {
  const auto data = file_.bytes().subspan(header_.data_begin);
  HAIRPIN_CHECK(entry.begin <= entry.end && entry.end <= data.size(), "{} is not an entry of {}",
                entry.tensor.name, path().string());
  return data.subspan(entry.begin, entry.end - entry.begin);
}

}  // namespace hairpin::safetensors

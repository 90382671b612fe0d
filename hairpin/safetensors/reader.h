// One safetensors file, read through a memory map.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "hairpin/base/file.h"
#include "hairpin/safetensors/header.h"

namespace hairpin::safetensors {

// Immutable once open, so any number of threads may read. Spans stay valid as long as the Reader
// or a copy of it; pages are read from disk on first touch. The file must not be truncated
// meanwhile (that is a bus error, as with every memory map).
class Reader {
 public:
  // Refuses what `parse_header` refuses.
  static Result<Reader> open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return file_.path(); }
  const std::vector<Entry>& entries() const { return header_.entries; }  // in order of their bytes
  const Metadata& metadata() const { return header_.metadata; }

  const Entry* find(std::string_view name) const;  // null: not in this file
  // The bytes of an entry of this file. Not necessarily aligned for the dtype.
  ByteSpan bytes(const Entry& entry) const;

 private:
  Reader(MappedFile file, Header header) : file_(std::move(file)), header_(std::move(header)) {}
  MappedFile file_;
  Header header_;
};

}  // namespace hairpin::safetensors

// Fuzz target: the header of a safetensors file. Whatever is accepted must lie inside the input.
#include <cstdlib>

#include "hairpin/safetensors/header.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const hairpin::ByteSpan file(reinterpret_cast<const std::byte*>(data), size);
  const auto header = hairpin::safetensors::parse_header(file, "fuzz");
  if (!header) return 0;
  std::uint64_t end = header->data_begin;
  for (const auto& entry : header->entries) {
    if (header->data_begin + entry.begin != end) std::abort();
    if (hairpin::safetensors::byte_size(entry.tensor) != entry.end - entry.begin) std::abort();
    end = header->data_begin + entry.end;
  }
  if (end != size) std::abort();
  return 0;
}

// What makes two models the same: SHA-256 of config.json and of the weights.
#pragma once

#include <filesystem>

#include "hairpin/base/hash.h"
#include "hairpin/safetensors/model_files.h"

namespace hairpin::hf {

// Identity of a whole model. Part of the contract between the sites; a half carries its source's.
struct Identity {
  Digest config{};   // of config.json's bytes
  Digest weights{};  // see weights_digest

  bool operator==(const Identity&) const = default;
};

// The same for any sharding and any order in the files. SHA-256 over the text
// "hairpin weights 1\n" and, for each tensor in the order of their names (bytewise):
//   u32 length and bytes of the name | u32 length and bytes of the dtype's safetensors name |
//   u32 rank | i64 each extent | 32 bytes SHA-256 of the data          (all little-endian)
// Reads every byte of the weights: about a second a gigabyte.
Digest weights_digest(const safetensors::ModelFiles::Map& tensors);

Result<Digest> config_digest(const std::filesystem::path& directory);

}  // namespace hairpin::hf

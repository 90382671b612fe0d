#include "hairpin/hf/digest.h"

namespace hairpin::hf {

Digest weights_digest(const safetensors::ModelFiles::Map& tensors) {
  Sha256 hash;
  hash.update(as_byte_span("hairpin weights 1\n"));
  for (const auto& [name, tensor] : tensors) {
    Bytes record;
    ByteWriter writer(record);
    writer.text(name);
    writer.text(dtype_name(tensor.info.dtype));
    writer.number(static_cast<std::uint32_t>(tensor.info.shape.size()));
    for (const auto extent : tensor.info.shape) writer.number(extent);
    writer.raw(sha256(tensor.bytes));
    hash.update(record);
  }
  return hash.finish();
}

Result<Digest> config_digest(const std::filesystem::path& directory) {
  return sha256_file(directory / "config.json");
}

}  // namespace hairpin::hf

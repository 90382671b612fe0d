#include "hairpin/safetensors/writer.h"

#include <algorithm>
#include <utility>

#include "hairpin/base/check.h"

namespace hairpin::safetensors {

void sort_as_hugging_face(std::vector<TensorInfo>& tensors) {
  const auto rank = [](const TensorInfo& tensor) {  // alike dtypes stay together
    return std::pair(-static_cast<int>(dtype_size(tensor.dtype)), tensor.dtype);
  };
  std::ranges::sort(tensors, [&](const TensorInfo& a, const TensorInfo& b) {
    return rank(a) != rank(b) ? rank(a) < rank(b) : a.name < b.name;
  });
}

Result<Writer> Writer::create(const std::filesystem::path& path, std::vector<TensorInfo> tensors,
                              const Metadata& metadata) {
  const auto header = encode_header(tensors, metadata);
  HAIRPIN_TRY(auto file, AtomicFile::create(path));
  HAIRPIN_CHECK_OK(file.write(header));
  Writer writer(std::move(file), std::move(tensors));
  writer.skip_complete();
  return writer;
}

void Writer::skip_complete() {
  while (current_ < tensors_.size() && written_ == *byte_size(tensors_[current_])) {
    ++current_;
    written_ = 0;
  }
}

Result<void> Writer::append(std::string_view name, ByteSpan bytes) {
  if (bytes.empty()) return {};
  HAIRPIN_CHECK(current_ < tensors_.size(), "{} comes after the last tensor", name);
  const auto& turn = tensors_[current_];
  HAIRPIN_CHECK(turn.name == name, "it is the turn of {}, not of {}", turn.name, name);
  HAIRPIN_CHECK(bytes.size() <= *byte_size(turn) - written_, "{} bytes too many for {}",
                bytes.size() - (*byte_size(turn) - written_), name);
  HAIRPIN_CHECK_OK(file_.write(bytes));
  written_ += bytes.size();
  skip_complete();
  return {};
}

Result<void> Writer::commit() {
  HAIRPIN_CHECK(current_ == tensors_.size(), "{} has only {} bytes", tensors_[current_].name,
                written_);
  return file_.commit();
}

}  // namespace hairpin::safetensors

#include "hairpin/safetensors/model_writer.h"

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "hairpin/base/check.h"
#include "hairpin/safetensors/model_files.h"

namespace hairpin::safetensors {
namespace {

Result<void> write_shard(const std::filesystem::path& path, const std::vector<Source>& sources) {
  std::vector<TensorInfo> tensors;
  std::map<std::string_view, const Source*> by_name;
  for (const auto& source : sources) {
    tensors.push_back(source.info);
    by_name[source.info.name] = &source;
  }
  sort_as_hugging_face(tensors);
  HAIRPIN_TRY(auto writer, Writer::create(path, tensors));
  for (const auto& tensor : tensors) {
    HAIRPIN_TRY(const auto bytes, by_name.at(tensor.name)->bytes());
    HAIRPIN_CHECK_OK(writer.append(tensor.name, bytes));
  }
  return writer.commit();
}

}  // namespace

std::vector<std::vector<Source>> plan_shards(std::vector<Source> tensors,
                                             std::uint64_t max_shard_bytes) {
  std::vector<std::vector<Source>> shards(1);
  std::uint64_t filled = 0;
  for (auto& tensor : tensors) {
    const auto size = byte_size(tensor.info);
    HAIRPIN_CHECK(size.has_value(), "the size of {} overflows", tensor.info.name);
    if (!shards.back().empty() && filled + *size > max_shard_bytes) {
      shards.emplace_back();
      filled = 0;
    }
    filled += *size;
    shards.back().push_back(std::move(tensor));
  }
  return shards;
}

Result<void> write_model(const std::filesystem::path& directory, std::vector<Source> tensors,
                         std::uint64_t max_shard_bytes) {
  const auto shards = plan_shards(std::move(tensors), max_shard_bytes);
  if (shards.size() == 1) return write_shard(directory / kSingleFile, shards[0]);
  nlohmann::json map = nlohmann::json::object();
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const auto name = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, shards.size());
    HAIRPIN_CHECK_OK(write_shard(directory / name, shards[i]));
    for (const auto& source : shards[i]) {
      map[source.info.name] = name;
      total += *byte_size(source.info);
    }
  }
  const nlohmann::json index = {{"metadata", {{"total_size", total}}}, {"weight_map", map}};
  return write_file_atomic(directory / kIndexFile, as_byte_span(index.dump(2) + "\n"));
}

}  // namespace hairpin::safetensors

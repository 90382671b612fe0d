#include "hairpin/safetensors/model_files.h"

#include <nlohmann/json.hpp>
#include <set>

#include "hairpin/json/parse.h"

namespace hairpin::safetensors {
namespace {

namespace fs = std::filesystem;

using Index = std::map<std::string, std::string>;  // tensor -> shard

bool plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
}

Result<Index> read_index(const fs::path& path) {
  HAIRPIN_TRY(const auto text, read_text_file(path, kMaxHeaderBytes));
  HAIRPIN_TRY(const auto document, hairpin::json::parse(text, path.string()));
  const auto map = document.is_object() ? document.find("weight_map") : document.end();
  if (map == document.end() || !map->is_object())
    return bad_input("{}: has no weight_map; it is not an index of safetensors shards",
                     path.string());
  Index index;
  for (const auto& [tensor, shard] : map->items()) {
    if (!shard.is_string() || !plain_name(shard.get_ref<const std::string&>()))
      return bad_input(
          "{}: tensor \"{}\" lies in {}, which is not the plain name of a file beside the index",
          path.string(), tensor, hairpin::json::brief(shard));
    index[tensor] = shard.get<std::string>();
  }
  return index;
}

Result<bool> is_there(const fs::path& path) {
  std::error_code code;
  const bool found = fs::exists(path, code);
  if (code) return bad_input("{}: {}; check the path", path.string(), code.message());
  return found;
}

tl::unexpected<Error> no_weights(const fs::path& directory) {
  std::error_code code;
  if (!fs::is_directory(directory, code))
    return bad_input("{}: no such directory; give a Hugging Face model directory",
                     directory.string());
  if (fs::exists(directory / "pytorch_model.bin", code) ||
      fs::exists(directory / "pytorch_model.bin.index.json", code))
    return bad_input(
        "{}: holds only pickled weights, which can run code when read; save the model as "
        "safetensors (save_pretrained does)",
        directory.string());
  return bad_input("{}: holds neither {} nor {}; give a Hugging Face model directory",
                   directory.string(), kSingleFile, kIndexFile);
}

Result<void> check_all_found(const Index& index, const ModelFiles::Map& tensors,
                             const fs::path& directory) {
  for (const auto& [tensor, shard] : index)
    if (!tensors.contains(tensor))
      return bad_input("{}: the index places tensor \"{}\" there, but the file doesn't hold it",
                       (directory / shard).string(), tensor);
  return {};
}

}  // namespace

const Tensor* ModelFiles::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

Result<ModelFiles> open_model(const fs::path& directory) {
  HAIRPIN_TRY(const bool single, is_there(directory / kSingleFile));
  HAIRPIN_TRY(const bool sharded, is_there(directory / kIndexFile));
  if (!single && !sharded) return no_weights(directory);
  if (single && sharded)
    return bad_input("{}: holds both {} and {}; remove the one that is not meant",
                     directory.string(), kSingleFile, kIndexFile);
  Index index;
  std::set<std::string> names{std::string(kSingleFile)};
  if (sharded) {
    HAIRPIN_TRY(index, read_index(directory / kIndexFile));
    names.clear();
    for (const auto& [tensor, shard] : index) names.insert(shard);
  }
  ModelFiles model;
  model.directory_ = directory;
  for (const auto& name : names) {
    HAIRPIN_TRY(auto reader, Reader::open(directory / name));
    for (const auto& entry : reader.entries()) {
      const auto& tensor = entry.tensor.name;
      if (const auto place = index.find(tensor);
          sharded && (place == index.end() || place->second != name))
        return bad_input("{}: holds tensor \"{}\", which {} {}", reader.path().string(), tensor,
                         kIndexFile,
                         place == index.end() ? "doesn't list" : "places in " + place->second);
      model.tensors_[tensor] = {entry.tensor, reader.bytes(entry), name};
    }
    model.readers_.push_back(std::move(reader));
  }
  HAIRPIN_CHECK_OK(check_all_found(index, model.tensors_, directory));
  return model;
}

}  // namespace hairpin::safetensors

#include "hairpin/hf/export.h"

#include <map>

#include "hairpin/base/check.h"
#include "hairpin/hf/companions.h"
#include "hairpin/hf/model_directory.h"
#include "hairpin/hf/staged_directory.h"

namespace hairpin::hf {
namespace {

// Model order, as `transformers` fills its shards; exactly the model's tensors.
std::vector<safetensors::Source> in_model_order(std::vector<safetensors::Source> tensors,
                                                const arch::Architecture& architecture) {
  std::map<std::string, safetensors::Source> by_name;
  for (auto& tensor : tensors) {
    const auto name = tensor.info.name;
    HAIRPIN_CHECK(by_name.emplace(name, std::move(tensor)).second, "{} comes twice", name);
  }
  std::vector<safetensors::Source> ordered;
  for (const auto& spec : tensors_of(architecture)) {
    const auto found = by_name.find(spec.name);
    HAIRPIN_CHECK(found != by_name.end(), "{} is not exported", spec.name);
    HAIRPIN_CHECK(found->second.info.shape == spec.shape, "{} has another shape", spec.name);
    ordered.push_back(std::move(found->second));
  }
  HAIRPIN_CHECK(ordered.size() == by_name.size(), "{} tensors for a model of {}", by_name.size(),
                ordered.size());
  return ordered;
}

}  // namespace

Result<void> export_model(const std::filesystem::path& target, std::string_view key,
                          const std::filesystem::path& origin,
                          std::vector<safetensors::Source> tensors, std::uint64_t max_shard_bytes) {
  HAIRPIN_TRY(const auto architecture, arch::read_architecture(origin));
  auto ordered = in_model_order(std::move(tensors), architecture);
  HAIRPIN_TRY(auto staged, StagedDirectory::create(target, key));
  HAIRPIN_CHECK_OK(copy_bytes(origin / "config.json", staged.path() / "config.json"));
  for (const auto& name : companion_files(origin))
    HAIRPIN_CHECK_OK(copy_bytes(origin / name, staged.path() / name));
  HAIRPIN_CHECK_OK(safetensors::write_model(staged.path(), std::move(ordered), max_shard_bytes));
  return staged.commit();
}

}  // namespace hairpin::hf

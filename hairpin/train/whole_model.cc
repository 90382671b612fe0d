#include "hairpin/train/whole_model.h"

#include "hairpin/checkpoint/weights.h"
#include "hairpin/tensor/threads.h"
#include "hairpin/tokenizer/tokenizer.h"

namespace hairpin::train {

Result<tokenizer::ChatTokenizer> load_tokenizer(const std::filesystem::path& directory,
                                                const arch::Architecture& architecture) {
  HAIRPIN_TRY(auto tokenizer, tokenizer::ChatTokenizer::load(directory));
  if (const auto ids = tokenizer.tokenizer().vocabulary_size(); ids > architecture.vocab_size)
    return bad_input(
        "{}: tokenizer.json has {} ids, config.json a vocab_size of {}; the two don't belong "
        "together",
        directory.string(), ids, architecture.vocab_size);
  return tokenizer;
}

Result<WholeModel> open_whole(const std::filesystem::path& directory) {
  HAIRPIN_TRY(auto opened, hf::open_whole(directory));
  HAIRPIN_TRY(auto tokenizer, load_tokenizer(directory, opened.architecture));
  return WholeModel{std::move(opened), std::move(tokenizer), nullptr};
}

void load_weights(WholeModel& model, std::int64_t positions, int threads) {
  set_compute_threads(threads);
  const arch::SegmentRange all{0, model.num_segments()};
  model.part = std::make_unique<models::ModelPart>(model.directory.architecture, std::vector{all},
                                                   models::ModelOptions{.positions = positions});
  checkpoint::load_weights(*model.part, model.directory);
}

}  // namespace hairpin::train

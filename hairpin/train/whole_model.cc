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

Result<WholeModel> load_whole(const std::filesystem::path& directory, std::int64_t positions,
                              int threads) {
  HAIRPIN_TRY(auto opened, hf::open_whole(directory));
  const auto& architecture = opened.architecture;
  const auto most = architecture.max_position_embeddings;
  if (positions > most)
    return bad_input(
        "{}: a sequence length of {} is more than the model's max_position_embeddings {}; give a "
        "lower --sequence-length",
        directory.string(), positions, most);
  HAIRPIN_TRY(auto tokenizer, load_tokenizer(directory, architecture));
  set_compute_threads(threads);
  const arch::SegmentRange all{0, architecture.num_hidden_layers + 2};
  auto part = std::make_unique<models::ModelPart>(architecture, std::vector{all},
                                                  models::ModelOptions{.positions = positions});
  checkpoint::load_weights(*part, opened);
  return WholeModel{std::move(opened), std::move(tokenizer), std::move(part)};
}

}  // namespace hairpin::train

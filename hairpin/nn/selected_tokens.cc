#include "hairpin/nn/selected_tokens.h"

#include <ATen/ops/empty.h>

#include <algorithm>

#include "hairpin/base/check.h"

namespace hairpin::nn {

SelectedTokens select_tokens(const LossTargets& all, std::int64_t vocab) {
  std::vector<std::int64_t> rows;
  SelectedTokens selected;
  for (std::size_t t = 0; t < all.targets.size(); ++t) {
    if (all.targets[t] < 0) continue;
    HAIRPIN_CHECK(all.targets[t] < vocab, "target {} outside a vocabulary of {}", all.targets[t],
                  vocab);
    rows.push_back(static_cast<std::int64_t>(t));
    selected.targets.push_back(all.targets[t]);
    selected.weights.push_back(all.weights[t]);
  }
  selected.rows = at::empty({static_cast<std::int64_t>(rows.size())}, at::kLong);
  std::copy(rows.begin(), rows.end(), selected.rows.data_ptr<std::int64_t>());
  return selected;
}

}  // namespace hairpin::nn

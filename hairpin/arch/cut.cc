#include "hairpin/arch/cut.h"

#include <fmt/ranges.h>

namespace hairpin::arch {
namespace {

tl::unexpected<Error> plaintext(const std::vector<std::int64_t>& layers, std::string_view end,
                                std::string_view what) {
  return bad_input(
      "layers = [{}]: with no decoder layer at the edge's {}, {}; keep layers at the edge (more of "
      "them lower what can be recovered, no number is known to be safe), or accept it with "
      "allow_plaintext_cut = true in the job and --allow-plaintext-cut for `hairpin convert split`",
      fmt::join(layers, ", "), end, what);
}

}  // namespace

Result<void> check_cuts(const std::vector<std::int64_t>& layers, bool allow_plaintext_cut) {
  if (layers.size() < 3)
    return bad_input(
        "layers = [{}]: a split needs at least three entries: edge head, cloud, edge tail",
        fmt::join(layers, ", "));
  if (allow_plaintext_cut) return {};
  if (layers.front() == 0)
    return plaintext(layers, "head",
                     "the text crosses the link as rows of a public embedding table, which the "
                     "cloud can look up");
  if (layers.back() == 0)
    return plaintext(layers, "tail",
                     "the labels follow from the gradient that the edge returns to the cloud");
  return {};
}

}  // namespace hairpin::arch

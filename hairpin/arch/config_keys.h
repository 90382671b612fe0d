// What Hairpin knows about the keys of a Hugging Face config.json beyond the sizes it reads.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <set>
#include <string>
#include <string_view>

#include "hairpin/base/result.h"

namespace hairpin::arch {

// Keys that never change what a forward or backward pass computes: names, versions, token ids,
// settings of generation and of other libraries, dtypes (the weights file states its own).
bool is_inert(std::string_view key);

// Refuses an option whose value asks for a computation Hairpin doesn't have (mlp_bias = true,
// quantization_config, ...), by its name. True: the key is such an option and its value is
// harmless.
Result<bool> check_option(std::string_view key, const nlohmann::json& value,
                          std::string_view where);

// The refusal of a key that nobody here knows, with the nearest of `known` and the lists above.
tl::unexpected<Error> unknown_option(std::string_view key, const std::set<std::string>& known,
                                     std::string_view where);

}  // namespace hairpin::arch

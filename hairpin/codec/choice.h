// Which codec each kind of tensor crosses in, by direction.
#pragma once

#include "hairpin/wire/message.h"

namespace hairpin::codec {

// Up is edge to cloud. Part of the contract: both sites have the same.
struct Choice {
  wire::Codec activation_up = wire::Codec::fp32;
  wire::Codec gradient_up = wire::Codec::fp32;
  wire::Codec activation_down = wire::Codec::fp32;
  wire::Codec gradient_down = wire::Codec::fp32;

  // Of a tensor of this kind that `sender` sends.
  constexpr wire::Codec of(wire::TensorKind kind, wire::Role sender) const {
    const bool up = sender == wire::Role::edge;
    if (kind == wire::TensorKind::activation) return up ? activation_up : activation_down;
    return up ? gradient_up : gradient_down;
  }
  bool operator==(const Choice&) const = default;
};

}  // namespace hairpin::codec

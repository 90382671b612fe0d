#include "hairpin/wire/message.h"

#include "hairpin/base/check.h"

namespace hairpin::wire {

std::string_view role_name(Role role) { return role == Role::edge ? "edge" : "cloud"; }

std::string_view codec_name(Codec codec) {
  switch (codec) {
    case Codec::fp32: return "fp32";
    case Codec::bf16: return "bf16";
    case Codec::int8: return "int8";
    case Codec::int4: return "int4";
  }
  HAIRPIN_CHECK(false, "no codec has the number {}", static_cast<int>(codec));
}

std::string_view message_name(const Message& message) {
  struct Name {
    std::string_view operator()(const Hello&) const { return "hello"; }
    std::string_view operator()(const ContractOffer&) const { return "contract"; }
    std::string_view operator()(const Manifest&) const { return "manifest"; }
    std::string_view operator()(const TensorMessage&) const { return "tensor"; }
    std::string_view operator()(const StepScalars&) const { return "scalars"; }
    std::string_view operator()(const WeightsRequest&) const { return "weights-request"; }
    std::string_view operator()(const WeightsManifest&) const { return "weights-manifest"; }
    std::string_view operator()(const WeightsChunk&) const { return "weights-chunk"; }
    std::string_view operator()(const Heartbeat&) const { return "heartbeat"; }
    std::string_view operator()(const Goodbye&) const { return "goodbye"; }
    std::string_view operator()(const Refusal&) const { return "refusal"; }
    std::string_view operator()(const StepTimes&) const { return "times"; }
  };
  return std::visit(Name{}, message);
}

}  // namespace hairpin::wire

// What edge and cloud say to each other. This list is the allow-list: a type that is not here has
// no encoding and is refused by the decoder. docs/protocol.md describes every byte.
//
// Token ids, labels, loss masks, pixels, text and loss values have no message on purpose.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "hairpin/base/bytes.h"
#include "hairpin/base/dtype.h"
#include "hairpin/base/hash.h"

namespace hairpin::wire {

inline constexpr std::uint16_t kProtocolVersion = 2;

enum class Role : std::uint8_t { edge = 0, cloud = 1 };
std::string_view role_name(Role role);

// First message each way.
struct Hello {
  std::uint16_t protocol_version = kProtocolVersion;
  Role role = Role::edge;
  std::string software;  // "hairpin 0.1.0", for people
  bool operator==(const Hello&) const = default;
};

// Second message each way: the part of the job both sites must agree on, field by field, in one
// fixed order. Each side compares and names what differs (link/contract.h).
struct ContractOffer {
  std::vector<std::pair<std::string, std::string>> fields;
  bool operator==(const ContractOffer&) const = default;
};

// One microbatch's shape: the lengths of its packed samples, each with its positions' start.
struct SegmentShape {
  std::uint32_t length = 0;          // tokens
  std::uint32_t first_position = 0;  // position id of its first token
  bool operator==(const SegmentShape&) const = default;
};
struct MicrobatchShape {
  std::vector<SegmentShape> segments;
  bool operator==(const MicrobatchShape&) const = default;
};

// Edge to cloud, once a step, before the step's first activation.
struct Manifest {
  std::uint32_t step = 0;
  std::vector<MicrobatchShape> microbatches;  // all of the step, in order, over all domains
  bool operator==(const Manifest&) const = default;
};

enum class TensorKind : std::uint8_t { activation = 0, gradient = 1 };
enum class Codec : std::uint8_t { fp32 = 0, bf16 = 1, int8 = 2, int4 = 3 };
std::string_view codec_name(Codec codec);

// Activation or gradient of one microbatch at one stage boundary (boundary b lies between logical
// stages b and b+1). The payload is opaque bytes made by the codec; dtype and shape are logical.
struct TensorMessage {
  TensorKind kind = TensorKind::activation;
  Codec codec = Codec::fp32;
  DType dtype = DType::f32;
  std::uint16_t boundary = 0;
  std::uint16_t domain = 0;
  std::uint32_t step = 0;
  std::uint32_t microbatch = 0;
  std::array<std::uint32_t, 2> shape{};  // tokens, hidden
  Bytes payload;
  bool operator==(const TensorMessage&) const = default;
};

// Both ways, once a step: what both sites need for one global gradient norm. The terms are in model
// order over the sender's own segments, each of the segment's gradients g: the sum of |g|, the sum
// of g^2 or the largest |g|, as optimizer.norm_type (part of the contract) is 1, 2 or inf.
// `first_segment` is the index of the first (a site with two runs of segments, as the edge has,
// sends one entry a run).
struct SegmentSums {
  std::uint32_t first_segment = 0;
  std::vector<double> norm_terms;
  bool operator==(const SegmentSums&) const = default;
};
struct StepScalars {
  std::uint32_t step = 0;
  std::uint64_t trained_tokens = 0;  // edge only; the cloud sends 0
  std::vector<SegmentSums> runs;
  bool operator==(const StepScalars&) const = default;
};

// Both ways, once a step, before its scalars: what the sender measured in the step, in whole
// microseconds, so that both sites compute the same schedule from the same numbers. Of a logical
// stage: what its ops took, a median over the microbatches, on the slowest of its ranks.
struct StageTime {
  std::uint16_t stage = 0;
  std::uint32_t forward = 0, backward = 0;  // backward: both parts of a split one
  std::uint32_t backward_weight = 0;        // of a split one; else 0
  bool operator==(const StageTime&) const = default;
};
struct StepTimes {
  std::uint32_t step = 0;
  std::uint64_t schedule = 0;                          // schedule::fingerprint of the order it ran
  std::uint32_t duration = 0;                          // since the last step's end; 0: not known
  std::uint32_t latency = 0;                           // one way, of the link; 0: not known
  std::uint64_t up_bandwidth = 0, down_bandwidth = 0;  // bytes a second; 0: not known
  std::vector<StageTime> stages;                       // the sender's, ascending
  bool operator==(const StepTimes&) const = default;
};

// Edge to cloud: send me the list of your trained weights, or the bytes of one of its entries.
// Cloud to edge: names, shapes and SHA-256 of each; a tensor's bytes in chunks. No weights exist
// from edge to cloud.
struct WeightsRequest {
  static constexpr std::uint32_t kManifest = 0xffffffff;
  std::uint32_t entry = kManifest;  // index into the manifest
  bool operator==(const WeightsRequest&) const = default;
};
struct WeightEntry {
  std::string name;  // Hugging Face tensor name
  DType dtype = DType::f32;
  std::vector<std::uint64_t> shape;
  Digest sha256{};
  bool operator==(const WeightEntry&) const = default;
};
struct WeightsManifest {
  std::vector<WeightEntry> entries;
  bool operator==(const WeightsManifest&) const = default;
};
struct WeightsChunk {
  std::uint32_t entry = 0;   // index into the manifest
  std::uint64_t offset = 0;  // bytes
  Bytes payload;
  bool operator==(const WeightsChunk&) const = default;
};

// Says that the sender lives, and lets both sides measure the link. Times are microseconds of the
// sender's own clock since its link began, at least 1. The link fills all of it in; a program that
// sends one need not.
struct Heartbeat {
  std::uint64_t sequence = 0;
  std::uint64_t sent = 0;
  std::uint64_t echo = 0;  // `sent` of the last heartbeat from the receiver; 0: none yet
  std::uint64_t held = 0;  // microseconds since that one came
  // What comes in here while frames are on their way, in bytes a second, and from how many samples.
  std::uint64_t received_rate = 0;
  std::uint64_t rate_samples = 0;
  bool operator==(const Heartbeat&) const = default;
};

// The sender's orderly end: nothing follows.
struct Goodbye {
  bool operator==(const Goodbye&) const = default;
};

// The sender gives up. `exit_code` is what the receiver should exit with.
struct Refusal {
  std::uint8_t exit_code = 3;
  std::string reason;  // one sentence for the peer's user; never anything about samples
  bool operator==(const Refusal&) const = default;
};

using Message =
    std::variant<Hello, ContractOffer, Manifest, TensorMessage, StepScalars, WeightsRequest,
                 WeightsManifest, WeightsChunk, Heartbeat, Goodbye, Refusal, StepTimes>;

std::string_view message_name(const Message& message);  // "tensor", "manifest", ...

}  // namespace hairpin::wire

#include <algorithm>
#include <optional>

#include "hairpin/wire/body.h"
#include "hairpin/wire/tensor_size.h"

namespace hairpin::wire {
namespace {

// Reads the fields of one body. The first thing wrong is kept; later reads give zeros.
class BodyReader {
 public:
  explicit BodyReader(ByteSpan body) : in_(body) {}

  template <class T>
  T number() {
    return in_.number<T>();
  }
  std::string text() { return in_.text(in_.remaining()); }
  ByteSpan raw(std::size_t size) { return in_.raw(size); }
  ByteSpan rest() { return in_.raw(in_.remaining()); }

  // An enum, or a bool, whose numbers run from `first` to `last`.
  template <class T>
  T choice(std::string_view field, unsigned first, unsigned last) {
    const auto value = in_.number<std::uint8_t>();
    if (in_.ok() && (value < first || value > last))
      wrong(fmt::format("{} is {}, which has no meaning", field, value));
    return static_cast<T>(value);
  }
  // How many entries follow, each of at least `entry_bytes` bytes; 0 when they cannot be there.
  std::uint32_t count(std::string_view field, std::size_t entry_bytes) {
    const auto value = in_.number<std::uint32_t>();
    if (in_.ok() && value > in_.remaining() / entry_bytes)
      wrong(fmt::format("{} {} cannot be in {} bytes", value, field, in_.remaining()));
    return ok() ? value : 0;
  }
  template <class T>
  std::vector<T> numbers(std::size_t size) {
    std::vector<T> values;
    if (!ok() || size > in_.remaining() / sizeof(T)) {
      in_.raw(in_.remaining() + 1);
      return values;
    }
    values.resize(size);
    const auto taken = in_.raw(size * sizeof(T));
    if (size > 0) std::memcpy(values.data(), taken.data(), taken.size());
    return values;
  }

  void wrong(std::string what) {
    if (!wrong_) wrong_ = std::move(what);
  }
  bool ok() const { return in_.ok() && !wrong_; }
  // Empty when all of the body was read and nothing was wrong.
  std::optional<std::string> fault() const {
    if (wrong_) return wrong_;
    if (!in_.ok()) return "it ends too early";
    if (!in_.at_end()) return fmt::format("{} bytes are left over", in_.remaining());
    return std::nullopt;
  }

 private:
  ByteReader in_;
  std::optional<std::string> wrong_;
};

Hello read_hello(BodyReader& in) {
  Hello m;
  m.protocol_version = in.number<std::uint16_t>();
  m.role = in.choice<Role>("role", 0, 1);
  m.software = in.text();
  return m;
}

ContractOffer read_contract_offer(BodyReader& in) {
  ContractOffer m;
  const auto fields = in.count("fields", 8);
  for (std::uint32_t i = 0; i < fields && in.ok(); ++i) {
    auto field = in.text();
    m.fields.emplace_back(std::move(field), in.text());
  }
  return m;
}

Manifest read_manifest(BodyReader& in) {
  Manifest m;
  m.step = in.number<std::uint32_t>();
  const auto microbatches = in.count("microbatches", 4);
  for (std::uint32_t i = 0; i < microbatches && in.ok(); ++i) {
    auto& segments = m.microbatches.emplace_back().segments;
    const auto size = in.count("segments", 8);
    segments.reserve(size);
    for (std::uint32_t j = 0; j < size; ++j) {
      const auto length = in.number<std::uint32_t>();
      segments.push_back({length, in.number<std::uint32_t>()});
    }
  }
  return m;
}

TensorMessage read_tensor(BodyReader& in) {
  TensorMessage m;
  m.kind = in.choice<TensorKind>("kind", 0, 1);
  m.codec = in.choice<Codec>("codec", 0, 3);
  m.dtype = in.choice<DType>("dtype", 0, 6);
  if (in.ok() && !may_cross_link(m.dtype))
    in.wrong(fmt::format("dtype {} may not cross the link", dtype_name(m.dtype)));
  in.choice<std::uint8_t>("reserved byte", 0, 0);
  m.boundary = in.number<std::uint16_t>();
  m.domain = in.number<std::uint16_t>();
  m.step = in.number<std::uint32_t>();
  m.microbatch = in.number<std::uint32_t>();
  for (auto& dim : m.shape) dim = in.number<std::uint32_t>();
  const auto payload = in.rest();
  if (in.ok() && !payload_fits(m.shape, m.codec, payload.size()))
    in.wrong(fmt::format("a {} x {} tensor as {} does not take {} bytes", m.shape[0], m.shape[1],
                         codec_name(m.codec), payload.size()));
  if (in.ok()) m.payload.assign(payload.begin(), payload.end());
  return m;
}

StepScalars read_step_scalars(BodyReader& in) {
  StepScalars m;
  m.step = in.number<std::uint32_t>();
  m.trained_tokens = in.number<std::uint64_t>();
  const auto runs = in.count("runs", 8);
  for (std::uint32_t i = 0; i < runs && in.ok(); ++i) {
    auto& run = m.runs.emplace_back();
    run.first_segment = in.number<std::uint32_t>();
    run.norm_terms = in.numbers<double>(in.count("norm terms", sizeof(double)));
  }
  return m;
}

StepTimes read_step_times(BodyReader& in) {
  StepTimes m;
  m.step = in.number<std::uint32_t>();
  m.schedule = in.number<std::uint64_t>();
  m.duration = in.number<std::uint32_t>();
  m.latency = in.number<std::uint32_t>();
  m.up_bandwidth = in.number<std::uint64_t>();
  m.down_bandwidth = in.number<std::uint64_t>();
  const auto stages = in.count("stages", 14);
  for (std::uint32_t i = 0; i < stages && in.ok(); ++i) {
    auto& stage = m.stages.emplace_back();
    stage.stage = in.number<std::uint16_t>();
    for (auto* time : {&stage.forward, &stage.backward, &stage.backward_weight})
      *time = in.number<std::uint32_t>();
  }
  return m;
}

WeightsManifest read_weights_manifest(BodyReader& in) {
  WeightsManifest m;
  const auto entries = in.count("entries", 38);
  for (std::uint32_t i = 0; i < entries && in.ok(); ++i) {
    auto& entry = m.entries.emplace_back();
    entry.name = in.text();
    entry.dtype = in.choice<DType>("dtype", 0, 6);
    entry.shape = in.numbers<std::uint64_t>(in.choice<std::uint8_t>("number of dims", 0, kMaxRank));
    const auto digest = in.raw(entry.sha256.size());
    if (in.ok()) std::copy(digest.begin(), digest.end(), entry.sha256.begin());
  }
  return m;
}

WeightsChunk read_weights_chunk(BodyReader& in) {
  WeightsChunk m;
  m.entry = in.number<std::uint32_t>();
  m.offset = in.number<std::uint64_t>();
  const auto payload = in.rest();
  m.payload.assign(payload.begin(), payload.end());
  return m;
}

Heartbeat read_heartbeat(BodyReader& in) {
  Heartbeat m;
  for (auto* value : {&m.sequence, &m.sent, &m.echo, &m.held, &m.received_rate, &m.rate_samples})
    *value = in.number<std::uint64_t>();
  return m;
}

Refusal read_refusal(BodyReader& in) {
  Refusal m;
  m.exit_code = in.choice<std::uint8_t>("exit code", 1, 4);
  m.reason = in.text();
  return m;
}

Message read(MessageType type, BodyReader& in) {
  switch (type) {
    case MessageType::hello: return read_hello(in);
    case MessageType::contract_offer: return read_contract_offer(in);
    case MessageType::manifest: return read_manifest(in);
    case MessageType::tensor: return read_tensor(in);
    case MessageType::step_scalars: return read_step_scalars(in);
    case MessageType::weights_request: return WeightsRequest{in.number<std::uint32_t>()};
    case MessageType::weights_manifest: return read_weights_manifest(in);
    case MessageType::weights_chunk: return read_weights_chunk(in);
    case MessageType::heartbeat: return read_heartbeat(in);
    case MessageType::goodbye: return Goodbye{};
    case MessageType::refusal: return read_refusal(in);
    case MessageType::step_times: return read_step_times(in);
  }
  in.wrong("its type is unknown");
  return Goodbye{};
}

}  // namespace

Result<Message> parse_body(MessageType type, ByteSpan body) {
  BodyReader in(body);
  auto message = read(type, in);
  if (const auto fault = in.fault())
    return fail(ErrorKind::peer,
                "the peer sent a malformed {} message of {} bytes: {}; run the same release of "
                "Hairpin on both sites",
                message_name(message), body.size(), *fault);
  return message;
}

}  // namespace hairpin::wire

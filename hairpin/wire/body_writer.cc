#include "hairpin/base/check.h"
#include "hairpin/wire/body.h"
#include "hairpin/wire/tensor_size.h"

namespace hairpin::wire {
namespace {

template <class T>
ByteSpan bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

// All but the payload.
struct BodyWriter {
  Bytes& bytes;
  ByteWriter out{bytes};

  void count(std::size_t size) { out.number(static_cast<std::uint32_t>(size)); }
  template <class Enum>
  void byte(Enum value) {
    out.number(static_cast<std::uint8_t>(value));
  }

  void operator()(const Hello& m) {
    out.number(m.protocol_version);
    byte(m.role);
    out.text(m.software);
  }
  void operator()(const ContractOffer& m) {
    count(m.fields.size());
    for (const auto& [field, value] : m.fields) {
      out.text(field);
      out.text(value);
    }
  }
  void operator()(const Manifest& m) {
    out.number(m.step);
    count(m.microbatches.size());
    for (const auto& microbatch : m.microbatches) {
      count(microbatch.segments.size());
      for (const auto& segment : microbatch.segments) {
        out.number(segment.length);
        out.number(segment.first_position);
      }
    }
  }
  void operator()(const TensorMessage& m) {
    HAIRPIN_CHECK(payload_fits(m.shape, m.codec, m.payload.size()),
                  "a {} x {} tensor as {} does not take {} bytes", m.shape[0], m.shape[1],
                  codec_name(m.codec), m.payload.size());
    HAIRPIN_CHECK(may_cross_link(m.dtype), "a tensor message of dtype {}", dtype_name(m.dtype));
    byte(m.kind);
    byte(m.codec);
    byte(m.dtype);
    out.number(std::uint8_t{0});
    out.number(m.boundary);
    out.number(m.domain);
    out.number(m.step);
    out.number(m.microbatch);
    out.number(m.shape[0]);
    out.number(m.shape[1]);
  }
  void operator()(const StepScalars& m) {
    out.number(m.step);
    out.number(m.trained_tokens);
    count(m.runs.size());
    for (const auto& run : m.runs) {
      out.number(run.first_segment);
      count(run.norm_terms.size());
      out.raw(bytes_of(run.norm_terms));
    }
  }
  void operator()(const StepTimes& m) {
    out.number(m.step);
    out.number(m.schedule);
    out.number(m.duration);
    out.number(m.latency);
    out.number(m.up_bandwidth);
    out.number(m.down_bandwidth);
    count(m.stages.size());
    for (const auto& stage : m.stages) {
      out.number(stage.stage);
      out.number(stage.forward);
      out.number(stage.backward);
      out.number(stage.backward_weight);
    }
  }
  void operator()(const WeightsRequest& m) { out.number(m.entry); }
  void operator()(const WeightsManifest& m) {
    count(m.entries.size());
    for (const auto& entry : m.entries) {
      HAIRPIN_CHECK(entry.shape.size() <= kMaxRank, "{} has {} dims", entry.name,
                    entry.shape.size());
      out.text(entry.name);
      byte(entry.dtype);
      byte(entry.shape.size());
      out.raw(bytes_of(entry.shape));
      out.raw(entry.sha256);
    }
  }
  void operator()(const WeightsChunk& m) {
    out.number(m.entry);
    out.number(m.offset);
  }
  void operator()(const Heartbeat& m) {
    for (const auto value : {m.sequence, m.sent, m.echo, m.held, m.received_rate, m.rate_samples})
      out.number(value);
  }
  void operator()(const Goodbye&) {}
  void operator()(const Refusal& m) {
    HAIRPIN_CHECK(m.exit_code >= 1 && m.exit_code <= 4, "exit code {}", m.exit_code);
    out.number(m.exit_code);
    out.text(m.reason);
  }
};

}  // namespace

void encode_body_head(const Message& message, Bytes& out) { std::visit(BodyWriter{out}, message); }

ByteSpan payload_of(const Message& message) {
  if (const auto* tensor = std::get_if<TensorMessage>(&message)) return tensor->payload;
  if (const auto* chunk = std::get_if<WeightsChunk>(&message)) return chunk->payload;
  return {};
}

}  // namespace hairpin::wire

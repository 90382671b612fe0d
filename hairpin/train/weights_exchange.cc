#include "hairpin/train/weights_exchange.h"

#include <algorithm>
#include <map>
#include <variant>

#include "hairpin/hf/model_directory.h"
#include "hairpin/train/job_contract.h"

namespace hairpin::train {
namespace {

template <class T>
Result<T> expect(pipeline::LinkSession& session) {
  HAIRPIN_TRY(auto message, session.next_control());
  if (auto* wanted = std::get_if<T>(&message)) return std::move(*wanted);
  return fail(ErrorKind::peer, "the peer sent a {} message where a {} message is due",
              wire::message_name(message), wire::message_name(T{}));
}

std::vector<std::uint64_t> extents(const std::vector<std::int64_t>& shape) {
  return {shape.begin(), shape.end()};
}

bool is_floating(DType dtype) {
  return dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16;
}

safetensors::TensorInfo info_of(const wire::WeightEntry& entry) {
  return {entry.name, entry.dtype, {entry.shape.begin(), entry.shape.end()}};
}

// The entries are the tensors the cloud holds, each once, with floating dtypes.
Result<void> check_entries(const Setup& setup, const std::vector<wire::WeightEntry>& entries) {
  std::map<std::string, std::vector<std::int64_t>> due;
  for (auto& tensor :
       hf::tensors_of(setup.model.architecture, hf::Half::cloud, setup.job.split->layers))
    due[tensor.name] = tensor.shape;
  for (const auto& entry : entries) {
    const auto info = info_of(entry);
    const auto found = due.find(info.name);
    if (found == due.end() || found->second != info.shape || !is_floating(info.dtype))
      return fail(ErrorKind::peer,
                  "the cloud offers the trained tensor {}, which it doesn't hold, or not like this",
                  info.name);
    due.erase(found);
  }
  if (!due.empty())
    return fail(ErrorKind::peer, "the cloud doesn't offer the trained tensor {}",
                due.begin()->first);
  return {};
}

std::uint64_t entry_bytes(const wire::WeightEntry& entry) {
  std::uint64_t bytes = dtype_size(entry.dtype);
  for (const auto extent : entry.shape) bytes *= extent;
  return bytes;
}

// One tensor's bytes from its chunks, which come in order.
Result<Bytes> receive_entry(pipeline::LinkSession& session, std::uint32_t index,
                            const wire::WeightEntry& entry) {
  const auto size = entry_bytes(entry);
  Bytes bytes;
  bytes.reserve(size);
  while (bytes.size() < size) {
    HAIRPIN_TRY(const auto chunk, expect<wire::WeightsChunk>(session));
    if (chunk.entry != index || chunk.offset != bytes.size() || chunk.payload.empty() ||
        chunk.payload.size() > size - bytes.size())
      return fail(ErrorKind::peer, "the cloud sent a wrong piece of {}", entry.name);
    bytes.insert(bytes.end(), chunk.payload.begin(), chunk.payload.end());
  }
  if (sha256(bytes) != entry.sha256)
    return fail(ErrorKind::peer, "{} arrived damaged: its SHA-256 is not the announced one",
                entry.name);
  return bytes;
}

Result<wire::WeightsManifest> manifest_of(const std::vector<safetensors::Source>& sources) {
  wire::WeightsManifest manifest;
  for (const auto& source : sources) {
    HAIRPIN_TRY(const auto bytes, source.bytes());
    manifest.entries.push_back(
        {source.info.name, source.info.dtype, extents(source.info.shape), sha256(bytes)});
  }
  return manifest;
}

Result<void> send_entry(pipeline::LinkSession& session, std::uint32_t index, ByteSpan bytes) {
  for (std::uint64_t offset = 0; offset < bytes.size(); offset += kWeightsChunkBytes) {
    const auto piece =
        bytes.subspan(offset, std::min<std::uint64_t>(kWeightsChunkBytes, bytes.size() - offset));
    HAIRPIN_CHECK_OK(
        session.send(wire::WeightsChunk{index, offset, Bytes(piece.begin(), piece.end())}));
  }
  return {};
}

}  // namespace

Result<void> serve_weights(const Setup& setup, pipeline::LinkSession& session,
                           const std::vector<checkpoint::DividedPart>& parts) {
  const auto sources = checkpoint::all_weight_sources(parts, setup.model);

  for (bool asked = false;; asked = true) {
    HAIRPIN_TRY(const auto message, session.next_control());
    if (asked && std::holds_alternative<wire::Goodbye>(message)) return {};
    const auto* request = std::get_if<wire::WeightsRequest>(&message);
    if (request == nullptr)
      return fail(ErrorKind::peer, "the edge sent a {} message where a weights-request is due",
                  wire::message_name(message));
    if (request->entry == wire::WeightsRequest::kManifest) {
      HAIRPIN_TRY(auto manifest, manifest_of(sources));
      HAIRPIN_CHECK_OK(session.send(std::move(manifest)));
    } else if (request->entry < sources.size()) {
      HAIRPIN_TRY(const auto bytes, sources[request->entry].bytes());
      HAIRPIN_CHECK_OK(send_entry(session, request->entry, bytes));
    } else {
      return fail(ErrorKind::peer, "the edge asks for tensor {} of {}", request->entry,
                  sources.size());
    }
  }
}

Result<std::vector<safetensors::Source>> request_weights(const Setup& setup,
                                                         pipeline::LinkSession& session) {
  HAIRPIN_CHECK_OK(session.send(wire::WeightsRequest{}));
  HAIRPIN_TRY(auto manifest, expect<wire::WeightsManifest>(session));
  HAIRPIN_CHECK_OK(check_entries(setup, manifest.entries));
  std::vector<safetensors::Source> sources;
  const auto current = std::make_shared<Bytes>();
  for (std::uint32_t i = 0; i < manifest.entries.size(); ++i) {
    const auto& entry = manifest.entries[i];
    sources.push_back({info_of(entry), [&session, current, i, entry]() -> Result<ByteSpan> {
                         HAIRPIN_CHECK_OK(session.send(wire::WeightsRequest{i}));
                         HAIRPIN_TRY(*current, receive_entry(session, i, entry));
                         return ByteSpan(*current);
                       }});
  }
  return sources;
}

}  // namespace hairpin::train

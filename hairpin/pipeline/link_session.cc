#include "hairpin/pipeline/link_session.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>
#include <variant>

#include "hairpin/mesh/share.h"
#include "hairpin/pipeline/codec.h"
#include "hairpin/tensor/convert.h"
#include "hairpin/wire/frame.h"

namespace hairpin::pipeline {
namespace {

using wire::Message;

constexpr std::size_t kMaxControl = 8;  // messages about weights received and not yet taken

// For whoever still waits when the peer's goodbye has come.
Error ended_early() { return {ErrorKind::peer, "the peer ended the run before this side did"}; }

template <class... Args>
tl::unexpected<Error> peer_error(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorKind::peer, format, std::forward<Args>(args)...);
}

// A share of rows is a copy, so that no rank's memory holds on to the others' rows. A plain one:
// LibTorch's might start an OpenMP team beside the ranks'.
Tensor copy_rows(const Tensor& tensor, mesh::Range rows) {
  const auto columns = tensor.size(1);
  Tensor copy = empty_fp32(std::array{rows.count, columns});
  const auto from = fp32_span(tensor).subspan(static_cast<std::size_t>(rows.begin * columns),
                                              static_cast<std::size_t>(rows.count * columns));
  std::ranges::copy(from, fp32_span(copy).begin());
  return copy;
}

}  // namespace

LinkSession::LinkSession(link::Link& link, Mailbox& mailbox, SessionOptions options)
    : link_(link),
      mailbox_(mailbox),
      options_(std::move(options)),
      encoder_([this](wire::TensorMessage message) { return link_.send(std::move(message)); },
               [this](Error error) { fail(std::move(error)); }, options_.meter),
      receiver_([this] { receive_loop(); }) {}

LinkSession::~LinkSession() {
  bool closed = false;
  {
    const std::lock_guard lock(mutex_);
    closed = closed_ || error_.has_value();
  }
  if (!closed) fail({ErrorKind::internal, "the run ended early on this side"});
}

void LinkSession::receive_loop() {
  const MeterScope scope(options_.meter, MemoryUse::link);
  for (;;) {
    auto message = link_.receive();
    if (!message) return fail(message.error());
    const bool goodbye = std::holds_alternative<wire::Goodbye>(*message);
    if (auto routed = route(std::move(*message)); !routed) return fail(routed.error());
    if (goodbye) return mailbox_.fail(ended_early());
  }
}

Result<void> LinkSession::route(Message message) {
  if (const auto* tensor = std::get_if<wire::TensorMessage>(&message))
    return accept_tensor(*tensor);
  const bool edge = options_.role == wire::Role::edge;
  std::unique_lock lock(mutex_);
  if (control_.size() >= kMaxControl) {
    if (!weights_asked_)
      return peer_error("the peer sent more about weights than it was asked for");
    // Whoever takes the weights in paces the peer; the link stops reading meanwhile.
    changed_.wait(lock, [&] { return error_ || control_.size() < kMaxControl; });
  }
  if (auto* scalars = std::get_if<wire::StepScalars>(&message)) {
    if (scalars_.size() >= 2) return peer_error("the peer is steps ahead with its scalars");
    scalars_.push_back(std::move(*scalars));
  } else if (auto* times = std::get_if<wire::StepTimes>(&message)) {
    if (times_.size() >= 2) return peer_error("the peer is steps ahead with its times");
    times_.push_back(std::move(*times));
  } else if (auto* manifest = std::get_if<wire::Manifest>(&message); manifest && !edge) {
    if (manifests_.size() >= 2) return peer_error("the peer is steps ahead with its manifests");
    manifests_.push_back(std::move(*manifest));
  } else if (std::holds_alternative<wire::Goodbye>(message)) {
    closed_ = true;
    control_.push_back(std::move(message));
  } else if (edge ? std::holds_alternative<wire::WeightsManifest>(message) ||
                        std::holds_alternative<wire::WeightsChunk>(message)
                  : std::holds_alternative<wire::WeightsRequest>(message)) {
    control_.push_back(std::move(message));
  } else {
    return peer_error("the peer sent a {} message, which the {} doesn't take while training",
                      wire::message_name(message), wire::role_name(options_.role));
  }
  changed_.notify_all();
  return {};
}

Result<void> LinkSession::accept_tensor(const wire::TensorMessage& message) {
  const Tag tag = tag_of(message);
  if (!options_.expected.contains({tag.kind, tag.boundary}))
    return peer_error("the peer sent the {}, which doesn't go that way", tag_text(tag));
  if (tag.domain >= options_.domains ||
      message.microbatch >= static_cast<std::uint32_t>(options_.microbatches))
    return peer_error("the peer sent the {}; this job has {} microbatches and {} domains",
                      tag_text(tag), options_.microbatches, options_.domains);
  const auto peer = options_.role == wire::Role::edge ? wire::Role::cloud : wire::Role::edge;
  const auto agreed = options_.codecs.of(message.kind, peer);
  if (message.codec != agreed || message.dtype != DType::f32)
    return peer_error("the peer sent the {} of {} in {}, the contract says F32 in {}",
                      tag_text(tag), dtype_name(message.dtype), wire::codec_name(message.codec),
                      wire::codec_name(agreed));
  if (message.shape[1] != options_.hidden || message.shape[0] == 0 ||
      message.shape[0] > options_.max_tokens)
    return peer_error("the peer sent a tensor of {} x {}; this job's are at most {} x {}",
                      message.shape[0], message.shape[1], options_.max_tokens, options_.hidden);
  if (mailbox_.waiting(0) >= options_.max_waiting)
    return peer_error("the peer sent more tensors than the schedule has in flight ({})",
                      options_.max_waiting);
  HAIRPIN_TRY(const Tensor tensor,
              decode(message.payload, message.codec, message.shape[0], message.shape[1]));
  if (!fan_out(tag, tensor)) return peer_error("the peer sent the {} twice", tag_text(tag));
  return {};
}

bool LinkSession::fan_out(Tag tag, const Tensor& tensor) {
  const int ranks = options_.tensor_parallel;
  for (tag.tp = 0; tag.tp < ranks; ++tag.tp) {
    const auto rows = mesh::share(tensor.size(0), ranks, tag.tp);
    const bool scatter = options_.sequence_parallel && ranks > 1;
    if (!mailbox_.put(tag, scatter ? copy_rows(tensor, rows) : tensor)) return false;
  }
  return true;
}

template <class T>
Result<T> LinkSession::pop(std::deque<T>& queue) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return error_ || closed_ || !queue.empty(); });
  if (queue.empty()) return tl::unexpected(error_ ? *error_ : ended_early());
  T item = std::move(queue.front());
  queue.pop_front();
  changed_.notify_all();
  return item;
}

Result<void> LinkSession::send(Message message) {
  if (std::holds_alternative<wire::WeightsRequest>(message)) {
    const std::lock_guard lock(mutex_);
    weights_asked_ = true;
  }
  if (wire::lane_of(message) == wire::Lane::bulk) HAIRPIN_CHECK_OK(encoder_.flush());
  return link_.send(std::move(message));
}

Result<void> LinkSession::flush() {
  HAIRPIN_CHECK_OK(encoder_.flush());
  return link_.flush();
}

Result<wire::Manifest> LinkSession::next_manifest() { return pop(manifests_); }
Result<wire::StepScalars> LinkSession::next_scalars() { return pop(scalars_); }
Result<wire::StepTimes> LinkSession::next_times() { return pop(times_); }
Result<Message> LinkSession::next_control() { return pop(control_); }

void LinkSession::fail(Error error) {
  {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    error = *error_;
  }
  changed_.notify_all();
  mailbox_.fail(error);
  encoder_.fail(error);
  link_.fail(std::move(error));
}

std::optional<Error> LinkSession::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

Result<void> LinkSession::send_tensor(const Tag& tag, std::vector<Tensor> shares) {
  std::int64_t tokens = 0;
  for (const auto& share : shares) tokens += share.size(0);
  wire::TensorMessage message;
  message.kind = tag.kind;
  message.codec = options_.codecs.of(tag.kind, options_.role);
  message.boundary = static_cast<std::uint16_t>(tag.boundary);
  message.domain = static_cast<std::uint16_t>(tag.domain);
  message.step = static_cast<std::uint32_t>(tag.step);
  message.microbatch = static_cast<std::uint32_t>(tag.microbatch);
  message.shape = {static_cast<std::uint32_t>(tokens),
                   static_cast<std::uint32_t>(shares.front().size(1))};
  return encoder_.put(std::move(message), std::move(shares));
}

}  // namespace hairpin::pipeline

#include "hairpin/pipeline/link_session.h"

#include <ATen/core/Tensor.h>

#include <variant>

#include "hairpin/mesh/share.h"
#include "hairpin/pipeline/codec.h"

namespace hairpin::pipeline {
namespace {

using wire::Message;

constexpr std::size_t kMaxControl = 8;  // messages about weights received and not yet taken

Tag tag_of(const wire::TensorMessage& message) {
  return {message.kind, message.boundary, message.domain, message.step,
          static_cast<int>(message.microbatch)};
}

// For whoever still waits when the peer's goodbye has come.
Error ended_early() { return {ErrorKind::peer, "the peer ended the run before this side did"}; }

template <class... Args>
tl::unexpected<Error> peer_error(fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorKind::peer, format, std::forward<Args>(args)...);
}

}  // namespace

LinkSession::LinkSession(link::Link& link, Mailbox& mailbox, SessionOptions options)
    : link_(link),
      mailbox_(mailbox),
      options_(std::move(options)),
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

// A share of rows is a copy, so that no rank's memory holds on to the others' rows.
bool LinkSession::fan_out(Tag tag, const Tensor& tensor) {
  const int ranks = options_.tensor_parallel;
  for (tag.tp = 0; tag.tp < ranks; ++tag.tp) {
    const auto rows = mesh::share(tensor.size(0), ranks, tag.tp);
    const bool scatter = options_.sequence_parallel && ranks > 1;
    if (!mailbox_.put(tag, scatter ? tensor.narrow(0, rows.begin, rows.count).clone() : tensor))
      return false;
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
  return link_.send(std::move(message));
}

Result<wire::Manifest> LinkSession::next_manifest() { return pop(manifests_); }
Result<wire::StepScalars> LinkSession::next_scalars() { return pop(scalars_); }
Result<Message> LinkSession::next_control() { return pop(control_); }

void LinkSession::fail(Error error) {
  {
    const std::lock_guard lock(mutex_);
    if (!error_) error_ = std::move(error);
    error = *error_;
  }
  changed_.notify_all();
  mailbox_.fail(error);
  link_.fail(std::move(error));
}

Result<void> LinkSession::send_tensor(const Tag& tag, const Tensor& tensor) {
  const auto codec = options_.codecs.of(tag.kind, options_.role);
  wire::TensorMessage message;
  message.kind = tag.kind;
  message.codec = codec;
  message.boundary = static_cast<std::uint16_t>(tag.boundary);
  message.domain = static_cast<std::uint16_t>(tag.domain);
  message.step = static_cast<std::uint32_t>(tag.step);
  message.microbatch = static_cast<std::uint32_t>(tag.microbatch);
  message.shape = {static_cast<std::uint32_t>(tensor.size(0)),
                   static_cast<std::uint32_t>(tensor.size(1))};
  message.payload = encode(tensor, codec);
  return send(std::move(message));
}

}  // namespace hairpin::pipeline

#include <algorithm>
#include <array>
#include <iterator>

#include "hairpin/config/bind.h"
#include "hairpin/config/field.h"

namespace hairpin::config {
namespace {

constexpr std::int64_t kMaxCount = 65'536;         // microbatches and their samples
constexpr std::int64_t kMaxTokens = 1'048'576;     // of a sample
constexpr std::int64_t kMaxSteps = 1'000'000'000;  // a step is a u32 on the link
constexpr std::int64_t kMaxConnections = 16;       // link::TlsLinkOptions'
constexpr std::uint64_t kMaxSeed = INT64_MAX;      // TOML's largest whole number
constexpr std::int64_t kMaxDegree = 1'024;         // of tensor and data parallel

// In their enums' order.
constexpr std::array kLossWords{"per_token", "per_sample", "per_microbatch"};
constexpr std::array kOnNonfiniteWords{"stop", "skip"};
constexpr std::array kNormTypeWords{"1", "2", "inf"};

template <class Words>
std::vector<std::string> list(const Words& words) {
  return {words.begin(), words.end()};
}

Rule<std::filesystem::path> a_path() {
  return {"", [](const std::filesystem::path& path) -> Complaint {
            if (path.empty()) return "is empty; give a path";
            if (path.string().find('\0') != std::string::npos) return "holds a NUL; give a path";
            return {};
          }};
}

using Fields = std::vector<Field>;

Fields model_fields() {
  return {required(bind_key("model", "path", &Job::model, &Model::path, a_path(),
                            "Hugging Face directory, whole or the edge's half of a split"))};
}

Fields split_fields() {
  return {required(
              bind_key("split", "layers", &Job::split, &Split::layers, split_layers(),
                       "decoder layers per stage: edge head, cloud ..., edge tail; they sum to the "
                       "model's depth")),
          bind_key(
              "split", "allow_plaintext_cut", &Job::split, &Split::allow_plaintext_cut, any<bool>(),
              "allow a head or tail of 0 layers, where text or labels follow from what crosses the "
              "link")};
}

Fields data_fields() {
  return {
      bind_key("data", "train", &Job::data, &Data::train, a_path(),
               "OpenAI-messages JSONL; required unless `train.steps` is 0"),
      bind_key("data", "sequence_length", &Job::data, &Data::sequence_length,
               between<std::int64_t>(2, kMaxTokens),
               "most tokens of a sample, and of a packed sequence"),
      bind_key(
          "data", "packing", &Job::data, &Data::packing, any<bool>(),
          "lay samples end to end up to `sequence_length`; attention never crosses from one to the "
          "next"),
      bind_key("data", "shuffle", &Job::data, &Data::shuffle, any<bool>(),
               "a seeded order of its own for every epoch"),
      bind_enum("data", "on_bad_sample", &Job::data, &Data::on_bad_sample, {"fail", "skip"},
                "a line that is no valid sample: end the run, or report and count it"),
      bind_enum("data", "on_long_sample", &Job::data, &Data::on_long_sample,
                {"fail", "skip", "truncate"}, "a sample longer than `sequence_length`")};
}

Fields train_fields() {
  return {
      required(bind_key("train", "steps", &Job::train, &Train::steps,
                        between<std::int64_t>(0, kMaxSteps), "optimizer steps; 0: export only")),
      bind_key("train", "microbatches", &Job::train, &Train::microbatches,
               between<std::int64_t>(1, kMaxCount), "per domain and step"),
      bind_key("train", "microbatch_size", &Job::train, &Train::microbatch_size,
               between<std::int64_t>(1, kMaxCount),
               "packed sequences (`packing`) or samples in a microbatch"),
      bind_key("train", "precision", &Job::train, &Train::precision, one_of({"fp32"}, {"bf16"}),
               "of weights and activations"),
      bind_enum("train", "loss", &Job::train, &Train::loss, list(kLossWords),
                "what weighs the same over the global batch"),
      bind_key("train", "loss_chunk", &Job::train, &Train::loss_chunk,
               between<std::int64_t>(1, kMaxTokens), "tokens whose logits exist at a time"),
      bind_enum("train", "on_nonfinite", &Job::train, &Train::on_nonfinite, list(kOnNonfiniteWords),
                "a step whose gradient has a NaN or an infinity: end the run, or leave the weights "
                "as they are and go on"),
      bind_key("train", "seed", &Job::train, &Train::seed, between<std::uint64_t>(0, kMaxSeed),
               "of everything drawn at random")};
}

// A number where its text is a word: 2 for "2".
Field norm_type_field() {
  auto field =
      bind_enum("optimizer", "norm_type", &Job::optimizer, &Optimizer::norm_type,
                list(kNormTypeWords), "of the global gradient norm that is reported and clipped");
  field.store = [store = std::move(field.store), takes = field.takes](const Value& value,
                                                                      Job& job) -> Complaint {
    std::string word;
    if (const auto* whole = std::get_if<std::int64_t>(&value)) word = fmt::format("{}", *whole);
    if (const auto* number = std::get_if<double>(&value)) word = fmt::format("{}", *number);
    if (word.empty()) return store(value, job);
    return store(word, job) ? Complaint(fmt::format("unknown; give {}", takes)) : Complaint();
  };
  return field;
}

Fields optimizer_fields() {
  const auto field = [](const char* key, auto member, auto rule, const char* meaning) {
    return bind_key("optimizer", key, &Job::optimizer, member, std::move(rule), meaning);
  };
  return {field("kind", &Optimizer::kind, one_of({"adamw", "sgd"}), "update rule"),
          field("learning_rate", &Optimizer::learning_rate, positive(), "after warm-up"),
          field("decay", &Optimizer::decay, one_of({"cosine", "linear", "constant"}),
                "of the learning rate after warm-up, until the last step"),
          field("min_learning_rate", &Optimizer::min_learning_rate, not_negative(),
                "where decay ends; at most `learning_rate`"),
          field("warmup_steps", &Optimizer::warmup_steps, between<std::int64_t>(0, kMaxSteps),
                "steps over which the learning rate rises linearly"),
          field("beta1", &Optimizer::beta1, below_one(), "adamw: decay of the mean"),
          field("beta2", &Optimizer::beta2, below_one(), "adamw: decay of the mean square"),
          field("epsilon", &Optimizer::epsilon, positive(), "adamw: added to the denominator"),
          field("weight_decay", &Optimizer::weight_decay, not_negative(),
                "decoupled from the gradient"),
          field("momentum", &Optimizer::momentum, below_one(), "sgd only"),
          field("clip_norm", &Optimizer::clip_norm, positive(),
                "largest global gradient norm, over both sites; none: no clipping"),
          norm_type_field()};
}

Fields schedule_fields() {
  return {
      bind_key(
          "schedule", "kind", &Job::schedule, &Schedule::kind,
          one_of({"gpipe", "1f1b", "zb-h1", "hairpin-1f1b", "hairpin-adaptive"}, {"interleaved"}),
          "order of the forwards and backwards of a step; default without [split]: \"1f1b\""),
      bind_key("schedule", "split_backward", &Job::schedule, &Schedule::split_backward, any<bool>(),
               "backwards in two: the gradient that others wait for at once, the weights' later"),
      bind_key("schedule", "adapt", &Job::schedule, &Schedule::adapt, any<bool>(),
               "hairpin-adaptive only: choose the order anew when times change; `false`: the one "
               "chosen after the first steps stays; none: `true`"),
      bind_key("schedule", "max_in_flight", &Job::schedule, &Schedule::max_in_flight,
               between<std::int64_t>(1, kMaxCount),
               "most microbatches that a rank holds of a stage between forward and backward: a cap "
               "on memory; none: no cap")};
}

Fields parallel_fields(const char* table, Site Job::* site) {
  return {bind_key(table, "threads", site, &Site::threads, between<std::int64_t>(1, 256),
                   "compute threads per rank"),
          bind_key(table, "tensor_parallel", site, &Site::tensor_parallel,
                   between<std::int64_t>(1, kMaxDegree), "ranks that share each weight matrix"),
          bind_key(table, "data_parallel", site, &Site::data_parallel,
                   between<std::int64_t>(1, kMaxDegree),
                   "replicas, each with microbatches of its own; their gradients are summed"),
          bind_key(table, "sequence_parallel", site, &Site::sequence_parallel, any<bool>(),
                   "tensor-parallel ranks share the tokens between the matrices too"),
          bind_key(table, "zero", site, &Site::zero, zero_stage(),
                   "1: each replica holds its part of the optimizer's state"),
          bind_key(table, "overlap_grad_reduce", site, &Site::overlap_grad_reduce, any<bool>(),
                   "sum gradients over the replicas while backward runs"),
          bind_key(table, "overlap_param_gather", site, &Site::overlap_param_gather, any<bool>(),
                   "gather parameters from the replicas (`zero`) while forward runs")};
}

Fields with(Fields first, Fields rest) {
  first.insert(first.end(), std::make_move_iterator(rest.begin()),
               std::make_move_iterator(rest.end()));
  return first;
}

Fields split_site_fields(const char* table, Site Job::* site) {
  return with({bind_key(table, "keys", site, &Site::keys, a_path(),
                        "directory of this site's cert.pem, key.pem and ca.pem"),
               bind_key(table, "model", site, &Site::model, a_path(),
                        "this site's own half; none: `model.path`")},
              parallel_fields(table, site));
}

Fields one_site_fields() {
  return with({bind_key("site", "pipeline", &Job::site, &Site::pipeline, pipeline_layers(),
                        "decoder layers per pipeline rank; they sum to the model's depth; none: "
                        "no pipeline")},
              parallel_fields("site", &Job::site));
}

Fields link_fields() {
  const auto codec = [](const char* key, auto member, const char* meaning) {
    return bind_key("link", key, &Job::link, member, one_of({"fp32", "bf16", "int8", "int4"}),
                    meaning);
  };
  return {bind_key("link", "address", &Job::link, &Link::address, an_address(),
                   "where the cloud listens and the edge dials"),
          codec("codec", &Link::codec, "of all activations and gradients on the link"),
          codec("codec_activation_up", &Link::codec_activation_up,
                "of activations from edge to cloud; none: `codec`"),
          codec("codec_gradient_up", &Link::codec_gradient_up,
                "of gradients from edge to cloud; none: `codec`"),
          codec("codec_activation_down", &Link::codec_activation_down,
                "of activations from cloud to edge; none: `codec`"),
          codec("codec_gradient_down", &Link::codec_gradient_down,
                "of gradients from cloud to edge; none: `codec`"),
          bind_key("link", "connections", &Job::link, &Link::connections,
                   between(std::int64_t{1}, kMaxConnections),
                   "parallel connections, the same number on both sites"),
          bind_key("link", "insecure_loopback", &Job::link, &Link::insecure_loopback, any<bool>(),
                   "no TLS; only with 127.0.0.1"),
          bind_key("link", "connect_timeout", &Job::link, &Link::connect_timeout,
                   between(0.1, 86'400.0), "seconds the edge goes on dialling"),
          bind_key("link", "peer_timeout", &Job::link, &Link::peer_timeout, between(2.0, 3'600.0),
                   "seconds without a byte until the peer counts as dead")};
}

Fields output_fields() {
  return {
      required(bind_key("output", "directory", &Job::output, &Output::directory, a_path(),
                        "the run's directory; with [split] the sites write `edge/` and `cloud/` "
                        "in it")),
      bind_key("output", "trace", &Job::output, &Output::trace, any<bool>(),
               "write `trace.json`, a timeline of every rank")};
}

Fields all_fields() {
  Fields all;
  for (auto&& group :
       {model_fields(), split_fields(), data_fields(), train_fields(), optimizer_fields(),
        schedule_fields(), split_site_fields("edge", &Job::edge),
        split_site_fields("cloud", &Job::cloud), one_site_fields(), link_fields(), output_fields()})
    all.insert(all.end(), group.begin(), group.end());
  return all;
}

}  // namespace

std::string_view word_of(Loss loss) { return kLossWords.at(static_cast<std::size_t>(loss)); }
std::string_view word_of(OnNonfinite on_nonfinite) {
  return kOnNonfiniteWords.at(static_cast<std::size_t>(on_nonfinite));
}
std::string_view word_of(NormType type) {
  return kNormTypeWords.at(static_cast<std::size_t>(type));
}

const std::vector<Field>& fields() {
  static const Fields all = all_fields();
  return all;
}

std::vector<std::string> table_names() {
  std::vector<std::string> names;
  for (const auto& field : fields())
    if (names.empty() || names.back() != field.table) names.push_back(field.table);
  return names;
}

bool table_applies(std::string_view table, bool has_split) {
  if (table == "site") return !has_split;
  const bool of_split = table == "split" || table == "edge" || table == "cloud" || table == "link";
  return has_split || !of_split;
}

}  // namespace hairpin::config

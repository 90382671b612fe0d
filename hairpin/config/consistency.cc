#include "hairpin/config/consistency.h"

#include "hairpin/config/address.h"
#include "hairpin/config/field.h"

namespace hairpin::config {
namespace {

constexpr std::int64_t kMaxMicrobatches = 65'536;  // of a step, over all domains
constexpr std::int64_t kMaxRanks = 4'096;          // of a site, which are threads of one process

// Where a key, or else its table, or else the job was written.
std::string where(const Document& document, std::string_view table, std::string_view key = "") {
  if (const auto* entry = document.find(table, key)) return entry->where;
  if (const auto* mark = document.find_table(table)) return mark->where;
  return document.file;
}

Result<void> check_required(const Document& document) {
  for (const auto& field : fields()) {
    const bool wanted = field.table != "split" || document.find_table("split") != nullptr;
    if (field.required && wanted && document.find(field.table, field.key) == nullptr)
      return bad_input("{}: [{}] {}: required and missing; give {}", where(document, field.table),
                       field.table, field.key, field.takes);
  }
  return {};
}

Result<void> check_tables(const Job& job, const Document& document) {
  for (const auto& mark : document.tables) {
    if (table_applies(mark.name, job.split.has_value())) continue;
    if (job.split)
      return bad_input(
          "{}: [{}]: only for a job on one site, and this one has [split]; give [edge] and [cloud] "
          "instead, or remove [split]",
          mark.where, mark.name);
    return bad_input("{}: [{}]: only for a job across two sites; add [split] layers or remove [{}]",
                     mark.where, mark.name, mark.name);
  }
  return {};
}

Result<void> check_schedule(const Job& job, const Document& document) {
  const auto& kind = job.schedule.kind;
  if (!job.split && kind.starts_with("hairpin-"))
    return bad_input(
        "{}: [schedule] kind = \"{}\": needs an edge and at least one cloud rank; add [split] "
        "layers or use \"1f1b\" or \"gpipe\"",
        where(document, "schedule", "kind"), kind);
  if (job.split && (kind == "1f1b" || kind == "zb-h1"))
    return bad_input(
        "{}: [schedule] kind = \"{}\": has no place for an edge, and this job has [split]; use "
        "\"hairpin-adaptive\", \"hairpin-1f1b\" or \"gpipe\"",
        where(document, "schedule", "kind"), kind);
  if (job.schedule.adapt.value_or(false) && kind != "hairpin-adaptive")
    return bad_input(
        "{}: [schedule] adapt = true: kind = \"{}\" is pinned, it never changes its order; remove "
        "the key or use kind = \"hairpin-adaptive\"",
        where(document, "schedule", "adapt"), kind);
  return {};
}

Result<void> check_site(const Site& site, std::string_view table, const Document& document) {
  if (site.sequence_parallel && site.tensor_parallel == 1)
    return bad_input(
        "{}: [{}] sequence_parallel = true: shares tokens between tensor-parallel ranks, and "
        "tensor_parallel is 1; give tensor_parallel = 2 or more, or remove it",
        where(document, table, "sequence_parallel"), table);
  return {};
}

// A step's microbatches: how many there may be, and one at least for each of the edge's replicas.
Result<void> check_microbatches(const Job& job, const Document& document) {
  const auto domains = job.split ? job.cloud.data_parallel : job.site.data_parallel;
  const auto* table = job.split ? "cloud" : "site";
  const auto microbatches = job.train.microbatches;
  const auto total = microbatches * domains;
  if (total > kMaxMicrobatches)
    return bad_input(
        "{}: [{}] data_parallel = {}: with train.microbatches = {} a step has {} microbatches, and "
        "{} is the most; give at most {}, or lower train.microbatches",
        where(document, table, "data_parallel"), table, domains, microbatches, total,
        kMaxMicrobatches, kMaxMicrobatches / microbatches);
  if (!job.split || job.edge.data_parallel <= total) return {};
  const auto replicas = job.edge.data_parallel;
  return bad_input(
      "{}: [edge] data_parallel = {}: a step has only {} microbatches (train.microbatches = {} x "
      "cloud.data_parallel = {}), so some replicas would have none; give at most {}, or "
      "train.microbatches = {} or more",
      where(document, "edge", "data_parallel"), replicas, total, microbatches, domains, total,
      (replicas + domains - 1) / domains);
}

Result<void> check_ranks(const Site& site, std::size_t pipeline, std::string_view table,
                         const Document& document) {
  const auto replica = static_cast<std::int64_t>(pipeline) * site.tensor_parallel;
  const auto ranks = replica * site.data_parallel;
  if (ranks <= kMaxRanks) return {};
  return bad_input(
      "{}: [{}] data_parallel = {}: makes {} ranks ({} pipeline ranks x tensor_parallel = {} x "
      "data_parallel), and {} is the most of a site; {}",
      where(document, table, "data_parallel"), table, site.data_parallel, ranks, pipeline,
      site.tensor_parallel, kMaxRanks,
      replica <= kMaxRanks ? fmt::format("give data_parallel at most {}", kMaxRanks / replica)
                           : std::string("lower tensor_parallel"));
}

Result<void> check_parallel(const Job& job, const Document& document) {
  HAIRPIN_CHECK_OK(check_site(job.edge, "edge", document));
  HAIRPIN_CHECK_OK(check_site(job.cloud, "cloud", document));
  HAIRPIN_CHECK_OK(check_site(job.site, "site", document));
  HAIRPIN_CHECK_OK(check_ranks(job.edge, 1, "edge", document));
  const auto cloud = job.split && job.split->layers.size() > 3 ? job.split->layers.size() - 2 : 1;
  HAIRPIN_CHECK_OK(check_ranks(job.cloud, cloud, "cloud", document));
  const auto site = job.site.pipeline ? job.site.pipeline->size() : 1;
  HAIRPIN_CHECK_OK(check_ranks(job.site, site, "site", document));
  return check_microbatches(job, document);
}

Result<void> check_train(const Job& job, const Document& document) {
  if (job.train.steps > 0 && job.data.train.empty())
    return bad_input(
        "{}: [data] train: required and missing; give the training file, or train.steps = 0",
        where(document, "data", "train"));
  const auto& optimizer = job.optimizer;
  if (optimizer.min_learning_rate > optimizer.learning_rate)
    return bad_input(
        "{}: [optimizer] min_learning_rate = {}: more than learning_rate = {}; give at most that",
        where(document, "optimizer", "min_learning_rate"), to_toml(optimizer.min_learning_rate),
        to_toml(optimizer.learning_rate));
  if (optimizer.kind != "sgd" && optimizer.momentum != 0)
    return bad_input(
        "{}: [optimizer] momentum = {}: only for kind = \"sgd\", and kind is \"{}\"; remove it",
        where(document, "optimizer", "momentum"), to_toml(optimizer.momentum), optimizer.kind);
  return {};
}

Result<void> check_link(const Job& job, const Document& document) {
  if (!job.link.insecure_loopback) return {};
  HAIRPIN_TRY(const auto address, parse_address(job.link.address));
  if (address.host == "127.0.0.1") return {};
  return bad_input(
      "{}: [link] insecure_loopback = true: only with host 127.0.0.1, and address is \"{}\"; "
      "remove "
      "it and give both sites keys",
      where(document, "link", "insecure_loopback"), job.link.address);
}

}  // namespace

Result<void> check_consistency(const Job& job, const Document& document) {
  HAIRPIN_CHECK_OK(check_required(document));
  HAIRPIN_CHECK_OK(check_tables(job, document));
  HAIRPIN_CHECK_OK(check_schedule(job, document));
  HAIRPIN_CHECK_OK(check_parallel(job, document));
  HAIRPIN_CHECK_OK(check_train(job, document));
  return check_link(job, document);
}

}  // namespace hairpin::config

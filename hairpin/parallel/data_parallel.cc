#include "hairpin/parallel/data_parallel.h"

#include <algorithm>
#include <span>
#include <utility>

#include "hairpin/base/check.h"
#include "hairpin/tensor/convert.h"

namespace hairpin::parallel {
namespace {

constexpr std::int64_t kUnit = 16;  // elements: each share starts on 64 bytes, as parameters do

std::span<float> own_piece(std::span<float> whole, mesh::Range owned) {
  return whole.subspan(static_cast<std::size_t>(owned.begin),
                       static_cast<std::size_t>(owned.count));
}

}  // namespace

struct DataParallel::State {
  struct Entry {
    nn::Bucket* bucket;
    std::vector<std::int64_t> counts;  // elements, one a replica
    mesh::Range owned;
    bool announced = false;  // since the last finish_gradients
    bool posted = false;     // its gradients are in flight
    bool gathering = false;  // its parameters are in flight
    collective::Work gradients{}, parameters{};
  };

  collective::Group* group;  // null: no replicas
  DataParallelOptions options;
  std::vector<Entry> entries;  // in forward order

  bool sharded() const { return group != nullptr && options.zero > 0; }
  void add(nn::Bucket* bucket);
  Entry& entry(const nn::Bucket& bucket);
  void post_gradients(Entry& entry);
  void post_parameters(Entry& entry);
};

void DataParallel::State::add(nn::Bucket* bucket) {
  const auto total = bucket->values().numel();
  HAIRPIN_CHECK(total % kUnit == 0, "a bucket of {} elements", total);
  Entry entry{.bucket = bucket, .counts = {}, .owned = {0, total}};
  if (sharded()) {
    const auto share = [&](int rank) { return mesh::share(total / kUnit, group->size(), rank); };
    for (int rank = 0; rank < group->size(); ++rank)
      entry.counts.push_back(share(rank).count * kUnit);
    const auto own = share(group->rank());
    entry.owned = {own.begin * kUnit, own.count * kUnit};
  }
  entries.push_back(std::move(entry));
}

DataParallel::State::Entry& DataParallel::State::entry(const nn::Bucket& bucket) {
  const auto found =
      std::ranges::find_if(entries, [&](const Entry& each) { return each.bucket == &bucket; });
  HAIRPIN_CHECK(found != entries.end(), "a bucket of another rank");
  return *found;
}

void DataParallel::State::post_gradients(Entry& entry) {
  entry.posted = true;
  if (group == nullptr) return;
  const auto whole = fp32_span(entry.bucket->gradients());
  entry.gradients =
      sharded() ? group->reduce_scatter_async(whole, own_piece(whole, entry.owned), entry.counts)
                : group->all_reduce_async(whole);
}

void DataParallel::State::post_parameters(Entry& entry) {
  entry.gathering = true;
  const auto whole = fp32_span(entry.bucket->values());
  entry.parameters = group->all_gather_async(own_piece(whole, entry.owned), whole, entry.counts);
}

DataParallel::DataParallel(collective::Group* group, std::vector<nn::Bucket*> buckets,
                           const DataParallelOptions& options)
    : state_(std::make_unique<State>()) {
  HAIRPIN_CHECK(options.zero == 0 || options.zero == 1, "ZeRO {}", options.zero);
  state_->group = group != nullptr && group->size() > 1 ? group : nullptr;
  state_->options = options;
  for (auto* bucket : buckets) state_->add(bucket);
}

DataParallel::~DataParallel() = default;

mesh::Range DataParallel::owned(const nn::Bucket& bucket) const {
  return state_->entry(bucket).owned;
}

void DataParallel::gradients_ready(nn::Bucket& bucket) {
  auto& entry = state_->entry(bucket);
  HAIRPIN_CHECK(!entry.announced, "a bucket's gradients were announced twice in a step");
  HAIRPIN_CHECK(!entry.gathering, "gradients of a bucket whose parameters are in flight");
  for (const auto& parameter : bucket.parameters())
    HAIRPIN_CHECK(parameter.has_gradient, "{} has no gradient", parameter.spec.name);
  entry.announced = true;
  if (state_->options.overlap_grad_reduce) state_->post_gradients(entry);
}

void DataParallel::finish_gradients() {
  for (auto& entry : state_->entries) {
    if (!entry.announced) {
      before_use(*entry.bucket);  // a step may do without the bucket
      gradients_ready(*entry.bucket);
    }
    if (!entry.posted) state_->post_gradients(entry);
  }
  for (auto& entry : state_->entries) {
    entry.gradients.wait();
    entry.announced = entry.posted = false;
  }
}

void DataParallel::parameters_updated() {
  for (const auto& entry : state_->entries) {
    HAIRPIN_CHECK(!entry.announced, "parameters updated while gradients are in flight");
    HAIRPIN_CHECK(!entry.gathering, "parameters updated while they are in flight");
  }
  if (!state_->sharded()) return;
  for (auto& entry : state_->entries) state_->post_parameters(entry);
  if (!state_->options.overlap_param_gather) finish_parameters();
}

void DataParallel::before_use(nn::Bucket& bucket) {
  auto& entry = state_->entry(bucket);
  HAIRPIN_CHECK(!entry.announced, "a bucket is used while its gradients are in flight");
  if (!entry.gathering) return;
  entry.parameters.wait();
  entry.gathering = false;
}

void DataParallel::finish_parameters() {
  for (auto& entry : state_->entries) before_use(*entry.bucket);
}

}  // namespace hairpin::parallel

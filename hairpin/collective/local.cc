#include "hairpin/collective/local.h"

#include <exception>
#include <utility>

#include "hairpin/base/check.h"
#include "hairpin/collective/local_meeting.h"
#include "hairpin/collective/local_member.h"
#include "hairpin/collective/local_worker.h"
#include "hairpin/collective/local_world.h"

namespace hairpin::collective {
namespace {

class LocalGroup : public Group {
 public:
  LocalGroup(std::shared_ptr<LocalWorld::State> world, std::shared_ptr<Meeting> meeting, int rank)
      : world_(std::move(world)),
        meeting_(meeting),
        member_(std::make_shared<LocalMember>(std::move(meeting), rank)) {}

  ~LocalGroup() override {
    // While an exception unwinds, its catcher is to name the cause, not this rank's absence.
    const bool failing = std::uncaught_exceptions() > 0;
    if (failing) member_->abandon();
    worker_.reset();
    if (!failing) meeting_->leave(rank());
  }

  int rank() const override { return member_->rank(); }
  int size() const override { return meeting_->size(); }
  const std::string& name() const override { return meeting_->name(); }
  bool shares_memory() const override { return true; }
  Traffic traffic() const override { return member_->traffic(); }

  Objects exchange(std::shared_ptr<const void> own, std::uint64_t bytes) override {
    Objects objects;
    run({.kind = Kind::exchange,
         .object = std::move(own),
         .object_bytes = bytes,
         .objects = &objects});
    return objects;
  }

 private:
  void run(Operation call) override {
    if (worker_ && !worker_->idle())
      worker_->add(std::move(call))->wait();
    else
      member_->execute(call, false);
  }

  std::shared_ptr<Work::State> start(Operation call) override {
    if (size() == 1) {
      member_->execute(call, false);
      return nullptr;
    }
    member_->check(call);
    if (!worker_) {
      const auto& hook = world_->on_worker_start;
      worker_ = std::make_unique<LocalWorker>(member_, hook ? hook() : nullptr);
    }
    return worker_->add(std::move(call));
  }

  const std::shared_ptr<LocalWorld::State> world_;
  const std::shared_ptr<Meeting> meeting_;
  const std::shared_ptr<LocalMember> member_;
  std::unique_ptr<LocalWorker> worker_;  // from the first asynchronous call on
};

}  // namespace

LocalWorld::LocalWorld() : state_(std::make_shared<State>()) {}
LocalWorld::~LocalWorld() = default;

void LocalWorld::on_worker_start(WorkerStartHook hook) {
  HAIRPIN_CHECK(!state_->has_groups(), "a hook set after the first group was made");
  state_->on_worker_start = std::move(hook);
}

void LocalWorld::on_span(SpanHook hook) {
  HAIRPIN_CHECK(!state_->has_groups(), "a hook set after the first group was made");
  state_->on_span = std::move(hook);
}

std::vector<std::unique_ptr<Group>> LocalWorld::make_group(int size, std::string name) {
  HAIRPIN_CHECK(size >= 1, "{}: a group of {}", name, size);
  const auto meeting = std::make_shared<Meeting>(state_, size, std::move(name));
  state_->add(meeting);
  std::vector<std::unique_ptr<Group>> members;
  for (int rank = 0; rank < size; ++rank)
    members.push_back(std::make_unique<LocalGroup>(state_, meeting, rank));
  return members;
}

void LocalWorld::fail(Error error) { state_->fail(std::move(error)); }

std::optional<Error> LocalWorld::error() const { return state_->error(); }

}  // namespace hairpin::collective

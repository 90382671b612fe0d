// A group for tests that hands all calls on to another: it tells when an asynchronous operation
// starts and is waited for, and may deny that ranks share memory, as ranks of several processes do.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "hairpin/base/check.h"
#include "hairpin/collective/group.h"
#include "hairpin/collective/operation.h"

namespace hairpin::parallel {

class WatchedGroup : public collective::Group {
 public:
  struct Options {
    bool shares_memory = true;
    std::function<void()> on_start = [] {};  // before an asynchronous operation starts
    std::function<void()> on_wait = [] {};   // before it is waited for
  };
  WatchedGroup(collective::Group& group, Options options)
      : group_(group), options_(std::move(options)) {}

  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  const std::string& name() const override { return group_.name(); }
  bool shares_memory() const override { return options_.shares_memory && group_.shares_memory(); }
  std::vector<std::shared_ptr<const void>> exchange(std::shared_ptr<const void> own,
                                                    std::uint64_t bytes) override {
    return group_.exchange(std::move(own), bytes);
  }
  collective::Traffic traffic() const override { return group_.traffic(); }

 protected:
  using Operation = collective::Operation;
  using Kind = collective::Kind;

  void run(Operation operation) override {
    if (operation.kind == Kind::all_gather && operation.element == collective::Element::f64) {
      group_.all_gather(input<const double>(operation), output<double>(operation),
                        operation.out_counts);
    } else if (operation.kind == Kind::all_gather) {
      group_.all_gather(input<const float>(operation), output<float>(operation),
                        operation.out_counts);
    } else if (operation.kind == Kind::barrier) {
      group_.barrier();
    } else {
      begin(operation).wait();
    }
  }

  std::shared_ptr<collective::Work::State> start(Operation operation) override {
    options_.on_start();
    return std::make_shared<State>(begin(operation), options_.on_wait);
  }

 private:
  struct State : collective::Work::State {
    State(collective::Work started, const std::function<void()>& hook)
        : work(std::move(started)), on_wait(hook) {}
    void wait() override {
      on_wait();
      work.wait();
    }
    bool done() const override { return work.done(); }
    void abandon() noexcept override {}
    collective::Work work;
    const std::function<void()>& on_wait;
  };

  template <class T>
  static std::span<T> input(const Operation& operation) {
    return {static_cast<T*>(operation.in), static_cast<std::size_t>(operation.in_size)};
  }
  template <class T>
  static std::span<T> output(const Operation& operation) {
    return {static_cast<T*>(operation.out), static_cast<std::size_t>(operation.out_size)};
  }

  collective::Work begin(const Operation& operation) {
    if (operation.kind == Kind::all_reduce)
      return group_.all_reduce_async(output<float>(operation), operation.reduction);
    HAIRPIN_CHECK(operation.kind == Kind::reduce_scatter, "{} is not watched",
                  collective::kind_name(operation.kind));
    const auto whole = input<const float>(operation);
    return group_.reduce_scatter_async({const_cast<float*>(whole.data()), whole.size()},
                                       output<float>(operation), operation.in_counts);
  }

  collective::Group& group_;
  const Options options_;
};

}  // namespace hairpin::parallel

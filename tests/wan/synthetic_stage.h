// A stage that waits instead of computing, so that executor, link and schedule can be measured with
// more ranks than there are cores: its ops take the time they are given, and what passes through
// them are real tensors whose values say which microbatch they are of and how far it has come.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "hairpin/pipeline/stage.h"
#include "hairpin/schedule/schedule.h"

namespace hairpin::wan {

// What is at boundary b (between stages b and b + 1) of S stages, in each element: going forward
// (key + 1) 2^b, coming back -(key + 1) 2^(S - 2 - b). Exact in fp32. The loss is
// (key + 1) 2^(S - 1).
double synthetic_activation(int key, int boundary);
double synthetic_gradient(int key, int boundary, int num_stages);
double synthetic_loss(int key, int num_stages);

// Not thread-safe; belongs to one rank. It throws BrokenInvariant on whatever no schedule may do:
// another microbatch's tensor than the one due, a microbatch in flight twice, a backward without
// its forward or out of the ascending order, weights' gradients that aren't the next ones pending,
// a `last` that isn't.
class SyntheticStage : public pipeline::Stage {
 public:
  struct Options {
    int stage = 0, num_stages = 0;
    std::int64_t hidden = 0;
    // Of one op; backward: both parts, of which `backward_weight` is for the weights' gradients.
    std::chrono::nanoseconds forward{0}, backward{0}, backward_weight{0};
    // Where ops are noted as they come, an op's microbatch being its key. Null: nowhere.
    std::vector<schedule::Op>* calls = nullptr;
  };
  explicit SyntheticStage(const Options& options) : options_(options) {}

  Tensor forward(int key, const Tensor& x,
                 std::shared_ptr<const models::MicrobatchInput> input) override;
  Tensor backward(int key, Tensor gradient, bool last) override;
  Tensor backward_input(int key, Tensor gradient) override;
  void backward_weight(int key, bool last) override;

  // Microbatches, by now.
  std::size_t peak_in_flight() const { return peak_in_flight_; }
  std::size_t peak_pending_weights() const { return peak_pending_; }

 private:
  struct Flight {
    Tensor x;  // kept as a stage that computes would
    std::int64_t tokens = 0;
  };
  bool is_first() const { return options_.stage == 0; }
  bool is_last() const { return options_.stage + 1 == options_.num_stages; }
  void note(schedule::OpKind kind, int key) const;
  Tensor land(int key, const Tensor& gradient);
  void end_step(bool last);

  const Options options_;
  std::map<int, Flight> flights_;
  std::deque<int> pending_;  // keys, as they came
  int last_backward_ = -1;   // key of the step's last so far
  std::size_t peak_in_flight_ = 0, peak_pending_ = 0;
};

// Lets the calling thread's timers end within microseconds, not within the usual 50.
void be_punctual();

}  // namespace hairpin::wan

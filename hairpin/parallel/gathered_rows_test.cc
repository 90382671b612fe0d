#include "hairpin/parallel/gathered_rows.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>

namespace hairpin::parallel {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

Tensor held;  // as another rank holds what it was shown

// Shows its gradient to others, as a row operator's backward does, and gives another one back.
struct Shows : Function<Shows> {
  static Tensor forward(AutogradContext*, const Tensor& x) { return x * 2.0; }
  static variable_list backward(AutogradContext*, const variable_list& grads) {
    held = grads[0].detach();
    return {grads[0] * 2.0};
  }
};

// The residual path hands the same gradient on, and autograd adds the operator's to it. It must not
// do that in the storage that another rank reads.
TEST(GatheredRows, AutogradLeavesAGradientThatOthersHoldAsItIs) {
  const Tensor x = at::ones({3, 4}).requires_grad_();
  const Tensor middle = x * 1.0;
  const Tensor y = at::add(middle, Shows::apply(middle));
  const Tensor dx = torch::autograd::grad({y}, {x}, {at::full({3, 4}, 5.0)})[0];
  EXPECT_TRUE(dx.equal(at::full({3, 4}, 15.0)));
  EXPECT_TRUE(held.equal(at::full({3, 4}, 5.0)));
  held = Tensor();
}

TEST(GatheredRows, PiecesCoverARangeInOrder) {
  const GatheredRows rows({at::zeros({2, 1}), at::ones({0, 1}), at::full({3, 1}, 2.0)});
  EXPECT_EQ(rows.size(), 5);
  const auto pieces = rows.pieces(1, 3);
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_EQ(pieces[0].begin, 0);
  EXPECT_EQ(pieces[0].rows.size(0), 1);
  EXPECT_EQ(pieces[1].begin, 1);
  EXPECT_EQ(pieces[1].rows.size(0), 2);
}

}  // namespace
}  // namespace hairpin::parallel

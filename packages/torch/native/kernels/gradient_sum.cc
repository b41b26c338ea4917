#include "gradient_sum.h"

#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/version.h>

#include <algorithm>
#include <memory>

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1)
#include <torch/csrc/autograd/function_hook.h>
#define GRPO_TAKES_GRADIENTS
#endif

namespace grpo {

void addToSum(const at::Tensor& sum, const at::Tensor& gradient) {
  const auto from = gradient.reshape(-1), into = sum.view(-1);
  // libtorch converts the whole of what it adds, so it gets a part at a time.
  constexpr int64_t kPart = 1 << 20;
  for (int64_t start = 0; start < into.numel(); start += kPart) {
    const int64_t count = std::min(kPart, into.numel() - start);
    into.narrow(0, start, count).add_(from.narrow(0, start, count));
  }
}

#ifdef GRPO_TAKES_GRADIENTS
namespace {

// Adds each gradient of a leaf to its sum, and drops it.
struct AddTo : torch::autograd::PostAccumulateGradHook {
  explicit AddTo(at::Tensor sum) : sum(std::move(sum)) {}

  void operator()(const at::Tensor& parameter) override {
    at::NoGradGuard guard;
    // None is left where the backward pass has added to the sum itself.
    if (!parameter.grad().defined()) return;
    addToSum(sum, parameter.grad());
    parameter.mutable_grad().reset();
  }

  at::Tensor sum;
};

}  // namespace

void setGradientSum(const at::Tensor& leaf, const at::Tensor& sum) {
  torch::autograd::impl::set_post_acc_grad_hooks(leaf, sum.defined() ? std::make_unique<AddTo>(sum) : nullptr);
}

#else
// Autograd adds to the gradient that is there, in its precision.
void setGradientSum(const at::Tensor& leaf, const at::Tensor& sum) { leaf.mutable_grad() = sum; }

#endif

at::Tensor gradientSumOf(const at::Tensor& tensor) {
  if (!tensor.requires_grad() || !tensor.is_leaf()) return {};
  const auto* asked = torch::autograd::get_current_graph_task_exec_info();
  if (asked && !asked->empty()) return {};
#ifdef GRPO_TAKES_GRADIENTS
  const auto* hook = dynamic_cast<AddTo*>(torch::autograd::impl::post_acc_grad_hooks(tensor).get());
  return hook ? hook->sum : at::Tensor();
#else
  const auto& sum = tensor.grad();
  return sum.defined() && sum.scalar_type() != tensor.scalar_type() ? sum : at::Tensor();
#endif
}

}  // namespace grpo

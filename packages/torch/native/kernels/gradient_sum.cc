#include "gradient_sum.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/graph_task.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/version.h>

#include <memory>

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 1)
#include <torch/csrc/autograd/function_hook.h>
#define GRPO_TAKES_GRADIENTS
#endif

#define KERNELS "gradient_sum_kernels.h"
#include "each_level.h"

namespace grpo {
namespace {

bool isPlain(const at::Tensor& tensor, at::ScalarType type) {
  return tensor.device().is_cpu() && tensor.is_contiguous() && tensor.scalar_type() == type;
}

}  // namespace

void addToSum(const at::Tensor& sum, const at::Tensor& gradient) {
  if (!isPlain(sum, at::kFloat) || !isPlain(gradient, at::kBFloat16)) {
    sum.add_(gradient);
    return;
  }
  // libtorch would first convert the gradient as a whole.
  const auto add = AT_LEVEL(addHalves);
  at::parallel_for(0, sum.numel(), 1 << 15, [&](int64_t begin, int64_t end) {
    add(sum.data_ptr<float>(), gradient.data_ptr<at::BFloat16>(), begin, end);
  });
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
  if (hook) return hook->sum;
#else
  const auto& sum = tensor.grad();
  if (sum.defined() && sum.scalar_type() != tensor.scalar_type()) return sum;
#endif
  // In float32 the gradient itself is the sum, which the first pass begins.
  if (!isPlain(tensor, at::kFloat)) return {};
  if (!tensor.grad().defined()) tensor.mutable_grad() = at::zeros_like(tensor);
  return isPlain(tensor.grad(), at::kFloat) ? tensor.grad() : at::Tensor();
}

}  // namespace grpo

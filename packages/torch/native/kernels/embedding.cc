// grpo::embedding: rows of a weight. On a CPU libtorch makes a gradient of all rows, and adds them up in the weight's
// precision, where a row in bfloat16 that many tokens have loses some of them. Here they go to their sum in float32
// themselves. Elsewhere it is libtorch's.
#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include "gradient_sum.h"
#include "linear.h"

namespace grpo {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct Embedding : torch::autograd::Function<Embedding> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& weight, const at::Tensor& ids) {
    at::AutoDispatchBelowADInplaceOrView below;
    context->save_for_backward({weight, ids});
    return at::embedding(weight, ids);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const auto &weight = saved[0], &ids = saved[1];
    const auto rows = gradients[0].to(at::kFloat);
    // The sum of the weight's gradients takes the rows of these ids alone.
    const auto sum = gradientSumOf(weight);
    if (!sum.defined()) {
      const auto all = at::embedding_dense_backward(rows, ids, weight.size(0), -1, false);
      return {all.to(weight.scalar_type()), {}};
    }
    sum.index_add_(0, ids.flatten(), rows.reshape({-1, weight.size(1)}));
    return {at::Tensor(), {}};
  }
};

at::Tensor embedding(const at::Tensor& weight, const at::Tensor& ids) {
  const bool differs = at::GradMode::is_enabled() && weight.requires_grad();
  const auto type = weight.scalar_type();
  const bool isSummed = type == at::kBFloat16 || type == at::kHalf || type == at::kFloat;
  return differs && isSummed && weight.device().is_cpu() ? Embedding::apply(weight, ids) : at::embedding(weight, ids);
}

}  // namespace

void registerEmbedding(torch::Library& library) {
  library.def("embedding(Tensor weight, Tensor indices) -> Tensor");
  library.impl("embedding", torch::dispatch(c10::DispatchKey::CompositeImplicitAutograd, TORCH_FN(embedding)));
}

}  // namespace grpo

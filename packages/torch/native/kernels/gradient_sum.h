// Sums of gradients in float32, whatever the parameter's precision.
#pragma once
#include <ATen/ATen.h>

namespace grpo {

// From now on backward passes add the gradients of a leaf to `sum` and leave none; an undefined sum ends that.
void setGradientSum(const at::Tensor& leaf, const at::Tensor& sum);

// The sum that takes what this backward pass finds for a tensor, on a CPU in float32 its gradient: undefined where
// there is none, or where the pass was asked for gradients and is to accumulate none.
at::Tensor gradientSumOf(const at::Tensor& tensor);

// sum += gradient, of equal shapes.
void addToSum(const at::Tensor& sum, const at::Tensor& gradient);

}  // namespace grpo

#pragma once
#include <ATen/ATen.h>

namespace grpo {

// Whether products of so many rows with a weight [outputs, inputs] are taken by panels of sixteen outputs.
bool narrowServes(const at::Tensor& weight, int64_t rows);

// A weight [outputs, inputs] as [⌈outputs / 16⌉, inputs, 16, 1], in bfloat16 [⌈outputs / 16⌉, ⌈inputs / 2⌉, 16, 2].
at::Tensor packPanels(const at::Tensor& weight);

// x × weightᵀ + bias, float32 or bfloat16, without a gradient; throws where shapes or types do not fit.
at::Tensor narrowLinear(const at::Tensor& x, const at::Tensor& panels, int64_t outputs,
                        const c10::optional<at::Tensor>& bias);

}  // namespace grpo

#pragma once
#include <ATen/ATen.h>

namespace grpo {

// Whether a weight [outputs, inputs] can be laid out for packedPanels: float32 or bfloat16, on the CPU.
bool panelsServe(const at::Tensor& weight);

// A weight [outputs, inputs] as panels of sixteen outputs: [⌈outputs / 16⌉, inputs, 16, 1], in bfloat16
// [⌈outputs / 16⌉, ⌈inputs / 32⌉ × 16, 16, 2]. In memory, several panels lie side by side, a block of inputs of each
// behind that of the one before.
at::Tensor packPanels(const at::Tensor& weight);

// x × weightᵀ + bias, float32 or bfloat16, without a gradient. A row of the result depends on its own row of x alone,
// to the bit. Throws where shapes or types do not fit.
at::Tensor multiplyPanels(const at::Tensor& x, const at::Tensor& panels, int64_t outputs,
                          const c10::optional<at::Tensor>& bias);

// The same in bfloat16, of a weight [outputs, inputs] that is laid out for this product only. Shapes must fit.
at::Tensor multiplyOnce(const at::Tensor& x, const at::Tensor& weight, const c10::optional<at::Tensor>& bias);

}  // namespace grpo

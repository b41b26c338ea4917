// Operators for decoding: one new token a row, without gradients, on CPU tensors of float32 or bfloat16.
#pragma once
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/library.h>

#include <initializer_list>

namespace grpo {

using OptionalTensor = c10::optional<at::Tensor>;

// Refuses what the kernels could not read: another device, layout or dtype than the first tensor's, or a gradient
// that would be lost.
inline void checkDecodes(const char* what, std::initializer_list<at::Tensor> tensors) {
  const auto dtype = tensors.begin()->scalar_type();
  TORCH_CHECK(dtype == at::kFloat || dtype == at::kBFloat16, what, " takes float32 or bfloat16, found ", dtype);
  for (const auto& tensor : tensors) {
    if (!tensor.defined()) continue;
    TORCH_CHECK(tensor.device().is_cpu() && tensor.layout() == at::kStrided, what, " takes plain CPU tensors");
    TORCH_CHECK(tensor.scalar_type() == dtype, what, " takes tensors of one dtype, found ", dtype, " and ",
                tensor.scalar_type());
    TORCH_CHECK(!(at::GradMode::is_enabled() && tensor.requires_grad()), what, " has no gradient");
  }
}

inline at::Tensor orNone(const OptionalTensor& tensor) { return tensor ? *tensor : at::Tensor(); }

// Rows [N, width], each with its numbers side by side.
inline void checkRows(const char* name, const at::Tensor& rows, int64_t n, int64_t width) {
  TORCH_CHECK(rows.dim() == 2 && rows.size(0) == n && rows.size(1) == width, name, " must be [", n, ", ", width,
              "], found ", rows.sizes());
  TORCH_CHECK(width <= 1 || rows.stride(1) == 1, name, " must have its last dimension side by side in memory");
}

inline void checkVector(const char* name, const at::Tensor& vector, int64_t width) {
  TORCH_CHECK(vector.dim() == 1 && vector.size(0) == width && vector.is_contiguous(), name, " must be [", width,
              "] and contiguous, found ", vector.sizes());
}

// Factors of a norm [width], in the dtype of what is normed or in float32.
inline void checkFactors(const char* name, const at::Tensor& factors, const at::Tensor& normed, int64_t width) {
  if (!factors.defined()) return;
  TORCH_CHECK(factors.scalar_type() == normed.scalar_type() || factors.scalar_type() == at::kFloat, name,
              " must be float32 or ", normed.scalar_type(), ", found ", factors.scalar_type());
  TORCH_CHECK(factors.device().is_cpu() && factors.layout() == at::kStrided &&
                  !(at::GradMode::is_enabled() && factors.requires_grad()),
              name, " must be a plain CPU tensor without a gradient");
  checkVector(name, factors, width);
}

// The elements of one type: at::BFloat16 or float.
template <typename Body>
void forDType(const at::Tensor& tensor, const Body& body) {
  if (tensor.scalar_type() == at::kFloat)
    body(float());
  else
    body(at::BFloat16());
}

// Rows a thread takes at least: a thread that wakes for less costs more than it does.
inline int64_t grainOf(int64_t workEach) { return std::max<int64_t>(1, 32768 / std::max<int64_t>(1, workEach)); }

void registerDecodeNorm(torch::Library& library);
void registerDecodeAttention(torch::Library& library);
void registerDrawTokens(torch::Library& library);

}  // namespace grpo

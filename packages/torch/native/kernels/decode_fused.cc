// grpo::add_norm and grpo::gated_activation: what lies between the products of a decode step, each in one pass.
#include <ATen/Parallel.h>

#include <cmath>
#include <string>

#include "decode.h"
#include "simd.h"

namespace grpo {
namespace {

struct Norm {
  const void *x, *delta, *weight, *bias;
  void *sum, *normed;
  int64_t width, xStride, deltaStride;
  float eps;
};

template <typename T>
GRPO_INLINE void normRow(const Norm& norm, int64_t row) {
  const int64_t width = norm.width;
  const T* x = static_cast<const T*>(norm.x) + row * norm.xStride;
  const T* delta = norm.delta ? static_cast<const T*>(norm.delta) + row * norm.deltaStride : nullptr;
  const T *weight = static_cast<const T*>(norm.weight), *bias = static_cast<const T*>(norm.bias);
  T *sum = static_cast<T*>(norm.sum) + row * width, *normed = static_cast<T*>(norm.normed) + row * width;
  Floats total{}, squares{};
  eachSixteen(width, [&](int64_t i, int64_t count) GRPO_INLINED {
    Floats value = loadUpTo(x + i, count);
    if (delta) value += loadUpTo(delta + i, count);
    storeUpTo(sum + i, value, count);
    // What the sum is once it is stored is what is normed.
    value = loadUpTo(sum + i, count);
    total += value;
    squares += value * value;
  });
  const float mean = bias ? sumOf(total) / width : 0;
  if (bias) {
    squares = Floats{};
    eachSixteen(width, [&](int64_t i, int64_t count) GRPO_INLINED {
      Floats off = loadUpTo(sum + i, count) - mean;
      if (count < LANES)
        for (int64_t j = count; j < LANES; ++j) off[j] = 0;
      squares += off * off;
    });
  }
  const float scale = 1 / std::sqrt(sumOf(squares) / width + norm.eps);
  eachSixteen(width, [&](int64_t i, int64_t count) GRPO_INLINED {
    Floats value = (loadUpTo(sum + i, count) - mean) * scale * loadUpTo(weight + i, count);
    if (bias) value += loadUpTo(bias + i, count);
    storeUpTo(normed + i, value, count);
  });
}

GRPO_CLONES void normRows(const Norm& norm, int64_t begin, int64_t end, float) {
  for (int64_t row = begin; row < end; ++row) normRow<float>(norm, row);
}

GRPO_CLONES void normRows(const Norm& norm, int64_t begin, int64_t end, at::BFloat16) {
  for (int64_t row = begin; row < end; ++row) normRow<at::BFloat16>(norm, row);
}

std::tuple<at::Tensor, at::Tensor> addNorm(const at::Tensor& x, const OptionalTensor& delta, const at::Tensor& weight, const OptionalTensor& bias, double eps) {
  const auto added = orNone(delta), shift = orNone(bias);
  checkDecodes("add_norm", {x, added, weight, shift});
  TORCH_CHECK(x.dim() == 2 && x.size(1) > 0, "x must be [N, D], found ", x.sizes());
  const int64_t n = x.size(0), width = x.size(1);
  checkRows("x", x, n, width);
  if (added.defined()) checkRows("delta", added, n, width);
  checkVector("weight", weight, width);
  if (shift.defined()) checkVector("bias", shift, width);
  auto sum = at::empty({n, width}, x.options()), normed = at::empty({n, width}, x.options());
  const Norm norm{x.data_ptr(), added.defined() ? added.data_ptr() : nullptr, weight.data_ptr(), shift.defined() ? shift.data_ptr() : nullptr,
                  sum.data_ptr(), normed.data_ptr(), width, x.stride(0), added.defined() ? added.stride(0) : 0, float(eps)};
  forDType(x, [&](auto kind) {
    at::parallel_for(0, n, grainOf(width), [&](int64_t begin, int64_t end) { normRows(norm, begin, end, kind); });
  });
  return {sum, normed};
}

struct Activation {
  const void *gate, *up;
  void* out;
  int64_t width, gateStride, upStride;
  bool gelu;
};

template <typename T>
GRPO_INLINE void activateRow(const Activation& job, int64_t row) {
  const T* gate = static_cast<const T*>(job.gate) + row * job.gateStride;
  const T* up = job.up ? static_cast<const T*>(job.up) + row * job.upStride : nullptr;
  T* out = static_cast<T*>(job.out) + row * job.width;
  eachSixteen(job.width, [&](int64_t i, int64_t count) GRPO_INLINED {
    const Floats x = loadUpTo(gate + i, count);
    // x × sigmoid(x); and tanh's GELU is x × sigmoid(2 √(2/π) (x + 0.044715 x³)).
    const Floats inner = job.gelu ? 1.5957691216f * (x + 0.044715f * x * x * x) : x;
    Floats y = x / (1.f + expOf(-inner));
    if (up) y *= loadUpTo(up + i, count);
    storeUpTo(out + i, y, count);
  });
}

GRPO_CLONES void activateRows(const Activation& job, int64_t begin, int64_t end, float) {
  for (int64_t row = begin; row < end; ++row) activateRow<float>(job, row);
}

GRPO_CLONES void activateRows(const Activation& job, int64_t begin, int64_t end, at::BFloat16) {
  for (int64_t row = begin; row < end; ++row) activateRow<at::BFloat16>(job, row);
}

at::Tensor gatedActivation(const at::Tensor& gate, const OptionalTensor& up, const std::string& activation) {
  const auto other = orNone(up);
  checkDecodes("gated_activation", {gate, other});
  TORCH_CHECK(activation == "silu" || activation == "gelu_tanh", "activation is silu or gelu_tanh, found ", activation);
  TORCH_CHECK(gate.dim() == 2, "gate must be [N, I], found ", gate.sizes());
  const int64_t n = gate.size(0), width = gate.size(1);
  checkRows("gate", gate, n, width);
  if (other.defined()) checkRows("up", other, n, width);
  auto out = at::empty({n, width}, gate.options());
  const Activation job{gate.data_ptr(), other.defined() ? other.data_ptr() : nullptr, out.data_ptr(), width, gate.stride(0), other.defined() ? other.stride(0) : 0, activation == "gelu_tanh"};
  forDType(gate, [&](auto kind) {
    at::parallel_for(0, n, grainOf(4 * width), [&](int64_t begin, int64_t end) { activateRows(job, begin, end, kind); });
  });
  return out;
}

}  // namespace

void registerDecodeFused(torch::Library& library) {
  library.def("add_norm(Tensor x, Tensor? delta, Tensor weight, Tensor? bias, float eps) -> (Tensor sum, Tensor normed)");
  library.impl("add_norm", torch::dispatch(c10::DispatchKey::CompositeImplicitAutograd, TORCH_FN(addNorm)));
  library.def("gated_activation(Tensor gate, Tensor? up, str activation) -> Tensor");
  library.impl("gated_activation", torch::dispatch(c10::DispatchKey::CompositeImplicitAutograd, TORCH_FN(gatedActivation)));
}

}  // namespace grpo

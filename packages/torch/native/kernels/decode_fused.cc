// grpo::add_norm and grpo::gated_activation: what lies between the products of a decode step, each in one pass.
#include <cmath>
#include <string>

#include "decode.h"
#include "stages.h"

namespace grpo {
namespace {

struct Norm {
  const void *x, *delta, *weight, *bias;
  void *sum, *normed;
  int64_t width, xStride, deltaStride;
  float eps;
};

struct Activation {
  const void *gate, *up;
  void* out;
  int64_t width, gateStride, upStride;
  bool gelu;
};

}  // namespace
}  // namespace grpo

#define KERNELS "decode_fused_kernels.h"
#include "each_level.h"

namespace grpo {
namespace {

std::tuple<at::Tensor, at::Tensor> addNorm(const at::Tensor& x, const OptionalTensor& delta, const at::Tensor& weight,
                                           const OptionalTensor& bias, double eps) {
  const auto added = orNone(delta), shift = orNone(bias);
  checkDecodes("add_norm", {x, added, weight, shift});
  TORCH_CHECK(x.dim() == 2 && x.size(1) > 0, "x must be [N, D], found ", x.sizes());
  const int64_t n = x.size(0), width = x.size(1);
  checkRows("x", x, n, width);
  if (added.defined()) checkRows("delta", added, n, width);
  checkVector("weight", weight, width);
  if (shift.defined()) checkVector("bias", shift, width);
  auto sum = at::empty({n, width}, x.options()), normed = at::empty({n, width}, x.options());
  forDType(x, [&](auto kind) {
    addStage({n, grainOf(width),
              [=](int64_t begin, int64_t end) {
                const Norm norm{x.data_ptr(),
                                added.defined() ? added.data_ptr() : nullptr,
                                weight.data_ptr(),
                                shift.defined() ? shift.data_ptr() : nullptr,
                                sum.data_ptr(),
                                normed.data_ptr(),
                                width,
                                x.stride(0),
                                added.defined() ? added.stride(0) : 0,
                                float(eps)};
                AT_LEVEL(normRows<decltype(kind)>)(norm, begin, end);
              }},
             sum.nbytes() + normed.nbytes());
  });
  return {sum, normed};
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
  const bool gelu = activation == "gelu_tanh";
  forDType(gate, [&](auto kind) {
    addStage({n, grainOf(4 * width),
              [=](int64_t begin, int64_t end) {
                const Activation job{gate.data_ptr(),
                                     other.defined() ? other.data_ptr() : nullptr,
                                     out.data_ptr(),
                                     width,
                                     gate.stride(0),
                                     other.defined() ? other.stride(0) : 0,
                                     gelu};
                AT_LEVEL(activateRows<decltype(kind)>)(job, begin, end);
              }},
             out.nbytes());
  });
  return out;
}

}  // namespace

void registerDecodeFused(torch::Library& library) {
  library.def(
      "add_norm(Tensor x, Tensor? delta, Tensor weight, Tensor? bias, float eps) -> (Tensor sum, Tensor normed)");
  library.impl("add_norm", torch::dispatch(c10::DispatchKey::CompositeImplicitAutograd, TORCH_FN(addNorm)));
  library.def("gated_activation(Tensor gate, Tensor? up, str activation) -> Tensor");
  library.impl("gated_activation",
               torch::dispatch(c10::DispatchKey::CompositeImplicitAutograd, TORCH_FN(gatedActivation)));
}

}  // namespace grpo

// grpo::add_norm, without a weight the sum alone, and grpo::gated_activation: what lies between the products of a
// decode step, each in one pass.
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
  // Of delta.
  float factor;
  // Whether the weight is float32, whatever the others are.
  bool wide;
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

std::tuple<at::Tensor, at::Tensor> addNorm(const at::Tensor& x, const OptionalTensor& delta,
                                           const OptionalTensor& scale, const OptionalTensor& bias, double eps,
                                           double factor) {
  const auto added = orNone(delta), weight = orNone(scale), shift = orNone(bias);
  checkDecodes("add_norm", {x, added, shift});
  TORCH_CHECK(x.dim() == 2 && x.size(1) > 0, "x must be [N, D], found ", x.sizes());
  const int64_t n = x.size(0), width = x.size(1);
  checkRows("x", x, n, width);
  if (added.defined()) checkRows("delta", added, n, width);
  checkFactors("weight", weight, x, width);
  if (shift.defined()) checkVector("bias", shift, width);
  TORCH_CHECK(weight.defined() || !shift.defined(), "bias comes with a weight");
  auto sum = at::empty({n, width}, x.options()), normed = weight.defined() ? at::empty({n, width}, x.options()) : sum;
  forDType(x, [&](auto kind) {
    addStage({n, grainOf(width),
              [=](int64_t begin, int64_t end) {
                const Norm norm{x.data_ptr(),
                                added.defined() ? added.data_ptr() : nullptr,
                                weight.defined() ? weight.data_ptr() : nullptr,
                                shift.defined() ? shift.data_ptr() : nullptr,
                                sum.data_ptr(),
                                normed.data_ptr(),
                                width,
                                x.stride(0),
                                added.defined() ? added.stride(0) : 0,
                                float(eps),
                                float(factor),
                                weight.defined() && weight.scalar_type() == at::kFloat};
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
      "add_norm(Tensor x, Tensor? delta, Tensor? weight, Tensor? bias, float eps, *, float factor=1.) -> (Tensor sum, "
      "Tensor normed)");
  library.impl("add_norm", torch::dispatch(c10::DispatchKey::CompositeImplicitAutograd, TORCH_FN(addNorm)));
  library.def("gated_activation(Tensor gate, Tensor? up, str activation) -> Tensor");
  library.impl("gated_activation",
               torch::dispatch(c10::DispatchKey::CompositeImplicitAutograd, TORCH_FN(gatedActivation)));
}

}  // namespace grpo

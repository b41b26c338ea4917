// grpo::add_norm: what lies between the blocks of a decode step, in one pass; without a weight the sum alone.
#include <cmath>

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

}  // namespace
}  // namespace grpo

#define KERNELS "decode_norm_kernels.h"
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

}  // namespace

void registerDecodeNorm(torch::Library& library) {
  library.def(
      "add_norm(Tensor x, Tensor? delta, Tensor? weight, Tensor? bias, float eps, *, float factor=1.) -> (Tensor sum, "
      "Tensor normed)");
  library.impl("add_norm", torch::dispatch(c10::DispatchKey::CompositeImplicitAutograd, TORCH_FN(addNorm)));
}

}  // namespace grpo

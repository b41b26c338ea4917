// grpo::linear: like aten::linear, forward and backward, but for two products that libtorch is slow at. Float32: on
// other makers' processors with AVX-512, MKL runs at half of the speed of oneDNN, which libtorch has as well. Bfloat16:
// where oneDNN has none, libtorch multiplies without vectors, and packed_linear's kernel takes its place; also with
// AMX, where it is faster.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "decode.h"
#include "level.h"
#include "linear.h"
#include "packed_linear.h"
#include "stages.h"

namespace grpo {
namespace {

// A matrix of so many rows, `stride` apart, and where it is laid out column by column.
struct Turned {
  const float* from;
  float* to;
  int64_t rows, stride;
};

}  // namespace
}  // namespace grpo

#define KERNELS "linear_kernels.h"
#include "each_level.h"

namespace grpo {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The table of float32 products, GFLOP/s, of training shapes with two threads, forward and for a weight's gradient: on
// a Xeon with AMX MKL does 200 to 330, oneDNN 290 to 310 and 130 to 250; on an EPYC with AVX-512 MKL does 160 to 190,
// oneDNN 300 to 400; on an EPYC with AVX2 MKL does 125 to 170 and 140 to 170, oneDNN 120 to 155 and 90 to 130. It is
// fixed, since a choice by the clock could change between a run and its resumption.
bool leavesVectorsUnused() {
#if defined(__x86_64__)
  return !__builtin_cpu_is("intel") && level() >= Level::avx512;
#else
  // MKL and this choice are x86 matters.
  return false;
#endif
}

// Not in every libtorch.
const c10::optional<c10::OperatorHandle>& pointwise() {
  static const auto handle = c10::Dispatcher::singleton().findSchema({"mkldnn::_linear_pointwise", ""});
  return handle;
}

bool oneDnnLinear() { return pointwise() && leavesVectorsUnused() && at::globalContext().userEnabledMkldnn(); }

// Whether oneDNN has no bfloat16 on this processor, as with AVX2 alone. It then refuses such a weight, and libtorch
// multiplies without vectors.
bool lacksHalf() {
  static const bool lacks = [] {
    const auto handle = c10::Dispatcher::singleton().findSchema({"mkldnn::_is_mkldnn_bf16_supported", ""});
    // 1.13 does not tell: its oneDNN has bfloat16 from AVX-512 on.
    if (!handle) return level() < Level::avx512;
    torch::jit::Stack stack;
    handle->callBoxed(stack);
    return !stack[0].toBool();
  }();
  return lacks;
}

// Whether packed_linear's kernel multiplies bfloat16, not oneDNN. On a Xeon with AMX, forward and backward of GPT-2's
// training take 0.77 and 1.79 s with it, 1.14 and 2.35 s with oneDNN.
bool multipliesHalf() { return lacksHalf() || level() == Level::amx; }

bool isPlain(const at::Tensor& tensor, at::ScalarType type) {
  return tensor.device().is_cpu() && tensor.layout() == at::kStrided && tensor.scalar_type() == type;
}

bool fits(const at::Tensor& x, const at::Tensor& weight, const c10::optional<at::Tensor>& bias) {
  const auto type = x.scalar_type();
  const bool served = type == at::kFloat ? oneDnnLinear() : type == at::kBFloat16 && multipliesHalf();
  const bool sized =
      x.dim() == 2 && weight.dim() == 2 && x.numel() > 0 && weight.numel() > 0 && x.size(1) == weight.size(1);
  const bool biased =
      !bias || !bias->defined() || (isPlain(*bias, type) && bias->dim() == 1 && bias->size(0) == weight.size(0));
  return served && isPlain(x, type) && isPlain(weight, type) && sized && biased;
}

// Rows that lie side by side, contiguous. libtorch does it on one thread.
at::Tensor rowByRow(const at::Tensor& x) {
  if (x.stride(1) == 1 || x.stride(0) != 1) return x;
  auto out = at::empty(x.sizes(), x.options());
  const Turned job{x.data_ptr<float>(), out.data_ptr<float>(), x.size(1), x.stride(1)};
  at::parallel_for(0, x.size(0), std::max<int64_t>(64, grainOf(x.size(1))), [&](int64_t begin, int64_t end) {
    AT_LEVEL(turnRows)(job, begin, end);
  });
  return out;
}

// x × weightᵀ + bias
at::Tensor oneDnnProduct(const at::Tensor& x, const at::Tensor& weight, const c10::optional<at::Tensor>& bias) {
  torch::jit::Stack stack;
  stack.reserve(6);
  stack.emplace_back(rowByRow(x));
  stack.emplace_back(weight);
  stack.emplace_back(bias);
  stack.emplace_back("none");
  stack.emplace_back(c10::List<c10::optional<at::Scalar>>());
  stack.emplace_back("");
  pointwise()->callBoxed(stack);
  return std::move(stack[0]).toTensor();
}

at::Tensor product(const at::Tensor& x, const at::Tensor& weight, const c10::optional<at::Tensor>& bias = {}) {
  return x.scalar_type() == at::kFloat ? oneDnnProduct(x, weight, bias) : multiplyOnce(x, weight, bias);
}

}  // namespace

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const c10::optional<at::Tensor>& bias) {
  return fits(x, weight, bias) ? product(x, weight, bias) : at::linear(x, weight, bias);
}

bool compilesEachShape(at::ScalarType type) {
  return type == at::kFloat ? oneDnnLinear() : type == at::kBFloat16 && !multipliesHalf();
}

namespace {

struct Linear : torch::autograd::Function<Linear> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const c10::optional<at::Tensor>& bias) {
    at::AutoDispatchBelowADInplaceOrView below;
    context->save_for_backward({x, weight});
    context->saved_data["biased"] = bias && bias->defined();
    return product(x, weight, bias);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const auto& [x, weight] = std::tie(saved[0], saved[1]);
    const auto& dy = gradients[0];
    at::Tensor dx, dw, db;
    // A graph of the backward pass takes operators that have derivatives.
    const auto times = at::GradMode::is_enabled()
                           ? [](const at::Tensor& a, const at::Tensor& b) { return a.mm(b.t()); }
                           : [](const at::Tensor& a, const at::Tensor& b) { return product(a, b); };
    if (context->needs_input_grad(0)) dx = times(dy, weight.t());
    // oneDNN copies its first argument, so in float32 that is the narrower one. In bfloat16 nothing is copied, and a
    // contiguous gradient is added faster than a transposed one.
    const bool turns = dy.scalar_type() == at::kFloat && dy.size(1) > x.size(1);
    if (context->needs_input_grad(1)) dw = turns ? times(x.t(), dy.t()).t() : times(dy.t(), x.t());
    if (context->saved_data["biased"].toBool() && context->needs_input_grad(2)) db = dy.sum(0);
    return {dx, dw, db};
  }
};

at::Tensor differentiable(const at::Tensor& x, const at::Tensor& weight, const c10::optional<at::Tensor>& bias) {
  return fits(x, weight, bias) ? Linear::apply(x, weight, bias) : at::linear(x, weight, bias);
}

}  // namespace

// A weight in the layout that packed_linear reads fastest, whatever the number of rows; the weight itself where there
// is none.
at::Tensor packLinear(const at::Tensor& weight) { return panelsServe(weight) ? packPanels(weight) : weight.alias(); }

at::Tensor packedLinear(const at::Tensor& x, const at::Tensor& packed, int64_t outputs,
                        const c10::optional<at::Tensor>& bias) {
  if (packed.dim() == 4) return multiplyPanels(x, packed, outputs, bias);
  performStages();
  return grpo::linear(x, packed, bias);
}

void registerLinear(torch::Library& library) {
  library.def("linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor");
  library.impl("linear", torch::dispatch(c10::DispatchKey::CompositeImplicitAutograd, TORCH_FN(at::linear)));
  library.impl("linear", torch::dispatch(c10::DispatchKey::CPU, TORCH_FN(grpo::linear)));
  library.impl("linear", torch::dispatch(c10::DispatchKey::AutogradCPU, TORCH_FN(differentiable)));
  library.def("pack_linear(Tensor(a) weight) -> Tensor(a)");
  library.impl("pack_linear", torch::dispatch(c10::DispatchKey::CompositeImplicitAutograd, TORCH_FN(packLinear)));
  library.def("packed_linear(Tensor input, Tensor packed, int outputs, Tensor? bias=None) -> Tensor");
  library.impl("packed_linear", torch::dispatch(c10::DispatchKey::CompositeImplicitAutograd, TORCH_FN(packedLinear)));
}

}  // namespace grpo

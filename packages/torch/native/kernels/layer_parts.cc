// grpo::layer_norm, grpo::rms_norm, grpo::rotate and grpo::gated_activation: what lies between the products of a layer,
// forward and backward each in one pass over CPU tensors of float32 or bfloat16, computed in float32 and rounded once
// (libtorch's layer norm adds up the gradients of weight and bias in bfloat16). Others are composed of libtorch's
// operators.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/version.h>

#include <cmath>
#include <string>

#include "decode.h"
#include "linear.h"
#include "stages.h"

namespace grpo {
namespace {

// A layer norm, or without a bias an RMS norm.
struct RowNorm {
  const void *x, *weight, *bias, *gradient;
  // One number for each row: written by the forward pass, read by the backward pass. An RMS norm has no means.
  float *means, *scales;
  void *out, *weightGradient, *biasGradient;
  int64_t rows, width;
  float eps;
};

struct Turn {
  const void *x, *cos, *sin;
  void* out;
  int64_t heads, width, pairs, rowStride, headStride;
  // −1 turns back.
  float sign;
};

struct Activation {
  const void *gate, *up, *gradient;
  void *out, *upGradient;
  int64_t width, gateStride, upStride;
  bool gelu;
};

}  // namespace
}  // namespace grpo

#define KERNELS "layer_parts_kernels.h"
#include "each_level.h"

namespace grpo {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Whether the kernels read it: of its rows the numbers lie side by side once it is contiguous.
bool isServed(const at::Tensor& x) {
  const auto type = x.scalar_type();
  return x.device().is_cpu() && x.layout() == at::kStrided && (type == at::kFloat || type == at::kBFloat16);
}

void refuseSecond(const char* what) { TORCH_CHECK(!at::GradMode::is_enabled(), what, " has no second derivative"); }

at::Tensor sideBySide(const at::Tensor& x) { return x.stride(-1) == 1 ? x : x.contiguous(); }

const void* pointerTo(const at::Tensor& x) { return x.defined() ? x.data_ptr() : nullptr; }

template <typename Job, typename Kernel>
void overRows(const Job& job, int64_t rows, int64_t workEach, Kernel kernel) {
  at::parallel_for(0, rows, grainOf(workEach), [&](int64_t begin, int64_t end) { kernel(job, begin, end); });
}

// body(a number of x's type, one of the weight's)
template <typename Body>
void forTypes(const at::Tensor& x, const at::Tensor& weight, const Body& body) {
  forDType(x,
           [&](auto kind) { weight.scalar_type() == at::kFloat ? body(kind, float()) : body(kind, decltype(kind)()); });
}

struct NormFunction : torch::autograd::Function<NormFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& input, const at::Tensor& factors,
                            const OptionalTensor& shift, double eps) {
    at::AutoDispatchBelowADInplaceOrView below;
    const auto x = input.contiguous(), weight = factors.contiguous();
    const auto bias = shift ? shift->contiguous() : at::Tensor();
    const int64_t width = weight.size(0), rows = x.numel() / width;
    const auto one = x.options().dtype(at::kFloat);
    auto scales = at::empty({rows}, one), means = shift ? at::empty({rows}, one) : at::Tensor();
    auto out = at::empty_like(x);
    auto job = jobOf(x, weight, means, scales);
    job.bias = pointerTo(bias);
    job.out = out.data_ptr();
    job.eps = float(eps);
    forTypes(x, weight, [&](auto kind, auto factor) {
      overRows(job, rows, 2 * width, AT_LEVEL(normalize<decltype(kind), decltype(factor)>));
    });
    context->save_for_backward({x, weight, means, scales});
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const auto &x = saved[0], &weight = saved[1], &means = saved[2];
    refuseSecond(means.defined() ? "layer_norm" : "rms_norm");
    const auto dy = gradients[0].contiguous();
    const auto emptyFor = [&](size_t input, const at::Tensor& like) {
      return context->needs_input_grad(input) ? at::empty_like(like) : at::Tensor();
    };
    auto dx = emptyFor(0, x), dweight = emptyFor(1, weight);
    auto dbias = means.defined() ? emptyFor(2, weight) : at::Tensor();
    auto job = jobOf(x, weight, means, saved[3]);
    job.gradient = dy.data_ptr();
    job.out = dx.defined() ? dx.data_ptr() : nullptr;
    job.weightGradient = dweight.defined() ? dweight.data_ptr() : nullptr;
    job.biasGradient = dbias.defined() ? dbias.data_ptr() : nullptr;
    forTypes(x, weight, [&](auto kind, auto factor) {
      using T = decltype(kind);
      using W = decltype(factor);
      if (dx.defined()) overRows(job, job.rows, 2 * job.width, AT_LEVEL(normalizeBackward<T, W>));
      if (!dweight.defined() && !dbias.defined()) return;
      // A cache line of columns at a time.
      constexpr int64_t kColumns = 64;
      const auto add = AT_LEVEL(factorGradients<T, W>);
      at::parallel_for(
          0, (job.width + kColumns - 1) / kColumns, grainOf(job.rows * kColumns),
          [&](int64_t begin, int64_t end) { add(job, begin * kColumns, std::min(job.width, end * kColumns)); });
    });
    return {dx, dweight, dbias, {}};
  }

  static RowNorm jobOf(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& means,
                       const at::Tensor& scales) {
    RowNorm job{};
    job.x = x.data_ptr();
    job.weight = weight.data_ptr();
    job.means = means.defined() ? means.data_ptr<float>() : nullptr;
    job.scales = scales.data_ptr<float>();
    job.rows = scales.size(0);
    job.width = weight.size(0);
    return job;
  }
};

void checkFactor(const char* name, const at::Tensor& factor, const at::Tensor& input) {
  TORCH_CHECK(input.dim() > 0 && factor.dim() == 1 && factor.size(0) == input.size(-1) && factor.size(0) > 0, name,
              " must be as long as the input's last dimension, found ", factor.sizes(), " and ", input.sizes());
}

bool isNormed(const at::Tensor& input, const at::Tensor& weight) {
  const bool known = weight.scalar_type() == input.scalar_type() || weight.scalar_type() == at::kFloat;
  return isServed(input) && isServed(weight) && known;
}

at::Tensor layerNorm(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& bias, double eps) {
  checkFactor("weight", weight, input);
  checkFactor("bias", bias, input);
  TORCH_CHECK(bias.scalar_type() == weight.scalar_type(), "bias must be ", weight.scalar_type(),
              " as the weight is, found ", bias.scalar_type());
  if (isNormed(input, weight) && isServed(bias)) return NormFunction::apply(input, weight, bias, eps);
  return at::layer_norm(input, {weight.size(0)}, weight, bias, eps);
}

at::Tensor rmsNorm(const at::Tensor& input, const at::Tensor& weight, double eps) {
  checkFactor("weight", weight, input);
  if (isNormed(input, weight)) return NormFunction::apply(input, weight, OptionalTensor(), eps);
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 4)
  // One kernel on CUDA.
  const auto type = at::promote_types(input.scalar_type(), weight.scalar_type());
  return at::rms_norm(input.to(type), {weight.size(0)}, weight.to(type), eps).to(input.scalar_type());
#else
  const auto wide = input.to(at::promote_types(input.scalar_type(), at::kFloat));
  const auto scale = wide.mul(wide).mean({-1}, true).add(eps).rsqrt();
  return wide.mul(scale).mul(weight).to(input.scalar_type());
#endif
}

struct TurnFunction : torch::autograd::Function<TurnFunction> {
  static at::Tensor turned(const at::Tensor& input, const at::Tensor& cos, const at::Tensor& sin, float sign) {
    const auto x = sideBySide(input);
    auto out = at::empty(x.sizes(), x.options());
    const Turn job{x.data_ptr(), cos.data_ptr(), sin.data_ptr(), out.data_ptr(), x.size(1),
                   x.size(2),    cos.size(-1),   x.stride(0),    x.stride(1),    sign};
    forDType(x, [&](auto kind) { overRows(job, x.size(0), x.size(1) * x.size(2), AT_LEVEL(turn<decltype(kind)>)); });
    return out;
  }

  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& cos,
                            const at::Tensor& sin) {
    at::AutoDispatchBelowADInplaceOrView below;
    const auto c = cos.contiguous(), s = sin.contiguous();
    context->save_for_backward({c, s});
    return turned(x, c, s, 1);
  }

  // The opposite rotation.
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    refuseSecond("rotate");
    const auto saved = context->get_saved_variables();
    return {turned(gradients[0], saved[0], saved[1], -1), {}, {}};
  }
};

at::Tensor rotate(const at::Tensor& input, const at::Tensor& cos, const at::Tensor& sin) {
  TORCH_CHECK(input.dim() == 3 && cos.dim() == 3 && cos.sizes() == sin.sizes() && cos.size(0) == input.size(0) &&
                  cos.size(1) == 1 && 2 * cos.size(2) <= input.size(2),
              "input is [N, heads, width], cos and sin are [N, 1, pairs], found ", input.sizes(), ", ", cos.sizes(),
              " and ", sin.sizes());
  TORCH_CHECK(!cos.requires_grad() && !sin.requires_grad(), "cos and sin have no gradient");
  const auto type = input.scalar_type();
  if (isServed(input) && isServed(cos) && isServed(sin) && cos.scalar_type() == type && sin.scalar_type() == type)
    return TurnFunction::apply(input, cos, sin);
  const int64_t pairs = cos.size(2);
  const auto a = input.narrow(2, 0, pairs), b = input.narrow(2, pairs, pairs);
  const auto rest = input.narrow(2, 2 * pairs, input.size(2) - 2 * pairs);
  return at::cat({a.mul(cos).sub(b.mul(sin)), b.mul(cos).add(a.mul(sin)), rest}, 2);
}

bool isGelu(const std::string& activation) { return activation == "gelu_tanh"; }

struct GatedFunction : torch::autograd::Function<GatedFunction> {
  // Rows [N, width] of what the kernels take; gradients are contiguous.
  static Activation jobOf(const at::Tensor& gate, const at::Tensor& up, const at::Tensor& out,
                          const std::string& activation) {
    return {gate.data_ptr(),   pointerTo(up), nullptr,        out.data_ptr(),
            nullptr,           gate.size(1),  gate.stride(0), up.defined() ? up.stride(0) : 0,
            isGelu(activation)};
  }

  static at::Tensor forward(AutogradContext* context, const at::Tensor& gated, const OptionalTensor& factor,
                            const std::string& activation) {
    at::AutoDispatchBelowADInplaceOrView below;
    const auto gate = sideBySide(gated), up = factor ? sideBySide(*factor) : at::Tensor();
    context->save_for_backward({gate, up});
    context->saved_data["activation"] = activation;
    return now(gate, up, activation);
  }

  static at::Tensor now(const at::Tensor& gate, const at::Tensor& up, const std::string& activation) {
    auto out = at::empty(gate.sizes(), gate.options());
    const auto job = jobOf(gate, up, out, activation);
    forDType(gate,
             [&](auto kind) { overRows(job, gate.size(0), 4 * gate.size(1), AT_LEVEL(activate<decltype(kind)>)); });
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    refuseSecond("gated_activation");
    const auto saved = context->get_saved_variables();
    const auto &gate = saved[0], &up = saved[1];
    const auto dy = gradients[0].contiguous();
    auto dgate = at::empty(gate.sizes(), gate.options());
    auto dup = up.defined() ? at::empty(up.sizes(), up.options()) : at::Tensor();
    auto job = jobOf(gate, up, dgate, context->saved_data["activation"].toStringRef());
    job.gradient = dy.data_ptr();
    job.upGradient = dup.defined() ? dup.data_ptr() : nullptr;
    forDType(gate, [&](auto kind) {
      overRows(job, gate.size(0), 8 * gate.size(1), AT_LEVEL(activateBackward<decltype(kind)>));
    });
    return {dgate, dup, {}};
  }
};

// As a stage of a decode step, which waits.
at::Tensor gatedLater(const at::Tensor& gate, const at::Tensor& up, const std::string& activation) {
  auto out = at::empty(gate.sizes(), gate.options());
  forDType(gate, [&](auto kind) {
    addStage({gate.size(0), grainOf(4 * gate.size(1)),
              [=](int64_t begin, int64_t end) {
                AT_LEVEL(activate<decltype(kind)>)(GatedFunction::jobOf(gate, up, out, activation), begin, end);
              }},
             out.nbytes());
  });
  return out;
}

at::Tensor gatedActivation(const at::Tensor& gate, const OptionalTensor& factor, const std::string& activation) {
  const auto up = orNone(factor);
  TORCH_CHECK(activation == "silu" || isGelu(activation), "activation is silu or gelu_tanh, found ", activation);
  TORCH_CHECK(gate.dim() == 2, "gate must be [N, I], found ", gate.sizes());
  TORCH_CHECK(!up.defined() || (up.sizes() == gate.sizes() && up.scalar_type() == gate.scalar_type()), "up must be ",
              gate.scalar_type(), " ", gate.sizes(), " as gate is, found ", up.scalar_type(), " ", up.sizes());
  if (isServed(gate) && (!up.defined() || isServed(up))) {
    const bool differs = at::GradMode::is_enabled() && (gate.requires_grad() || (up.defined() && up.requires_grad()));
    const bool waits = gate.stride(1) == 1 && (!up.defined() || up.stride(1) == 1);
    if (!differs && waits) return gatedLater(gate, up, activation);
    performStages();
    return GatedFunction::apply(gate, factor, activation);
  }
  performStages();
  const auto y = isGelu(activation) ? at::gelu(gate, "tanh") : at::silu(gate);
  return up.defined() ? y.mul(up) : y;
}

}  // namespace

void registerLayerParts(torch::Library& library) {
  library.def("layer_norm(Tensor input, Tensor weight, Tensor bias, float eps) -> Tensor");
  library.impl("layer_norm", torch::dispatch(c10::DispatchKey::CompositeImplicitAutograd, TORCH_FN(layerNorm)));
  library.def("rms_norm(Tensor input, Tensor weight, float eps) -> Tensor");
  library.impl("rms_norm", torch::dispatch(c10::DispatchKey::CompositeImplicitAutograd, TORCH_FN(rmsNorm)));
  library.def("rotate(Tensor input, Tensor cos, Tensor sin) -> Tensor");
  library.impl("rotate", torch::dispatch(c10::DispatchKey::CompositeImplicitAutograd, TORCH_FN(rotate)));
  library.def("gated_activation(Tensor gate, Tensor? up, str activation) -> Tensor");
  library.impl("gated_activation",
               torch::dispatch(c10::DispatchKey::CompositeImplicitAutograd, TORCH_FN(gatedActivation)));
}

}  // namespace grpo

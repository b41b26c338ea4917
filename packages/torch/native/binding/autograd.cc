// What autograd needs beyond the dispatcher: reading .grad, the backward pass, and the modes of the calling thread.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <vector>

#include "../kernels/gradient_sum.h"
#include "../kernels/stages.h"
#include "handle.h"

namespace grpo {
namespace {

// An exception in JavaScript that autograd passes on, as it does any std::exception.
struct CallbackFailed : std::runtime_error {
  CallbackFailed() : std::runtime_error("the callback of the backward pass failed") {}
};

// Whom the backward pass of this thread tells that it comes by a marked tensor. A pass on another device has threads of
// its own, which must not call JavaScript.
struct Listener {
  napi_env env;
  napi_value callback;
};
thread_local const Listener* listener = nullptr;

void tellListener(const at::Tensor&) {
  if (!listener) return;
  const auto [env, callback] = *listener;
  napi_value result;
  if (napi_call_function(env, undefined(env), callback, 0, nullptr, &result) != napi_ok) throw CallbackFailed();
  // The pass goes on to write gradients that it may have read.
  performStages();
}

// mark(tensor): backward passes tell their listener when they have its gradient
napi_value mark(napi_env env, const Arguments& args) {
  const auto tensor = tensorOf(env, args[0]);
  if (tensor.requires_grad()) tensor.register_hook(tellListener);
  return undefined(env);
}

// backward(tensors, gradients, retainGraph, listener | null): what the listener throws ends the pass
napi_value backward(napi_env env, const Arguments& args) {
  performStages();
  const Listener own{env, args[3]};
  const Listener* const outer = listener;
  listener = isNullish(env, args[3]) ? outer : &own;
  try {
    torch::autograd::backward(tensorsOf(env, args[0]), tensorsOf(env, args[1]), boolOf(env, args[2]));
  } catch (...) {
    listener = outer;
    bool isPending = false;
    check(env, napi_is_exception_pending(env, &isPending));
    if (isPending) throw PendingException{};
    throw;
  }
  listener = outer;
  return undefined(env);
}

// grad(outputs, inputs, gradients, retainGraph, createGraph) → one gradient an input, null where it is unused
napi_value grad(napi_env env, const Arguments& args) {
  performStages();
  auto gradients = torch::autograd::grad(tensorsOf(env, args[0]), tensorsOf(env, args[1]), tensorsOf(env, args[2]),
                                         boolOf(env, args[3]), boolOf(env, args[4]), /*allow_unused=*/true);
  napi_value array = arrayOf(env, gradients.size());
  for (size_t i = 0; i < gradients.size(); ++i) check(env, napi_set_element(env, array, i, wrap(env, gradients[i])));
  return array;
}

napi_value getGrad(napi_env env, const Arguments& args) { return wrap(env, tensorOf(env, args[0]).grad()); }

napi_value setGrad(napi_env env, const Arguments& args) {
  tensorOf(env, args[0]).mutable_grad() = isNullish(env, args[1]) ? at::Tensor() : tensorOf(env, args[1]);
  return undefined(env);
}

// sumGradients(parameter, sum | null): backward passes add the parameter's gradients to sum and leave none
napi_value sumGradients(napi_env env, const Arguments& args) {
  const auto parameter = tensorOf(env, args[0]);
  setGradientSum(parameter, isNullish(env, args[1]) ? at::Tensor() : tensorOf(env, args[1]));
  return undefined(env);
}

napi_value requiresGrad(napi_env env, const Arguments& args) {
  return toJs(env, tensorOf(env, args[0]).requires_grad());
}

napi_value setRequiresGrad(napi_env env, const Arguments& args) {
  tensorOf(env, args[0]).requires_grad_(boolOf(env, args[1]));
  return undefined(env);
}

// setGradMode(enabled) → the mode before
napi_value setGradMode(napi_env env, const Arguments& args) {
  const bool before = at::GradMode::is_enabled();
  at::GradMode::set_enabled(boolOf(env, args[0]));
  return toJs(env, before);
}

std::vector<std::unique_ptr<c10::InferenceMode>>& inferenceGuards() {
  static thread_local std::vector<std::unique_ptr<c10::InferenceMode>> guards;
  return guards;
}

napi_value enterInference(napi_env env, const Arguments&) {
  inferenceGuards().push_back(std::make_unique<c10::InferenceMode>(true));
  return undefined(env);
}

napi_value leaveInference(napi_env env, const Arguments&) {
  if (inferenceGuards().empty()) throw std::logic_error("not in inference mode");
  inferenceGuards().pop_back();
  return undefined(env);
}

}  // namespace

void registerAutograd(napi_env env, napi_value exports) {
  define<backward>(env, exports, "backward");
  define<mark>(env, exports, "mark");
  define<grad>(env, exports, "grad");
  define<getGrad>(env, exports, "getGrad");
  define<setGrad>(env, exports, "setGrad");
  define<sumGradients>(env, exports, "sumGradients");
  define<requiresGrad>(env, exports, "requiresGrad");
  define<setRequiresGrad>(env, exports, "setRequiresGrad");
  define<setGradMode>(env, exports, "setGradMode");
  define<enterInference>(env, exports, "enterInference");
  define<leaveInference>(env, exports, "leaveInference");
}

}  // namespace grpo

#include "handle.h"

#include <atomic>

namespace grpo {
namespace {

constexpr uint64_t kTensor = 0x6772706f54656e73, kGenerator = 0x6772706f47656e65;

struct TensorBox {
  uint64_t kind = kTensor;
  at::Tensor tensor;
  int64_t bytes = 0;     // its storage if this handle was the first owner; views share one and count nothing
  bool charged = false;  // the collector was told of them
};

struct GeneratorBox {
  uint64_t kind = kGenerator;
  at::Generator generator;
};

std::atomic<int64_t> tensors{0}, bytes{0};

void adjust(node_api_basic_env env, int64_t change) {
  int64_t total;
  napi_adjust_external_memory(env, change, &total);
}

void drop(node_api_basic_env env, TensorBox* box) {
  if (!box->tensor.defined()) return;
  box->tensor.reset();
  tensors -= 1;
  bytes -= box->bytes;
  if (box->charged) adjust(env, -box->bytes);
}

// A basic finalizer: runs inside the collection, so memory comes back in loops that never yield.
void finalizeTensor(node_api_basic_env env, void* data, void*) {
  auto* box = static_cast<TensorBox*>(data);
  drop(env, box);
  delete box;
}

void finalizeGenerator(node_api_basic_env, void* data, void*) { delete static_cast<GeneratorBox*>(data); }

template <typename Box>
Box* boxIn(napi_env env, napi_value value, uint64_t kind) {
  void* data = nullptr;
  if (!value || napi_get_value_external(env, value, &data) != napi_ok || !data) return nullptr;
  auto* box = static_cast<Box*>(data);
  return box->kind == kind ? box : nullptr;
}

}  // namespace

napi_value wrap(napi_env env, at::Tensor tensor) {
  if (!tensor.defined()) return null(env);
  auto* box = new TensorBox;
  if (tensor.has_storage() && tensor.storage().use_count() == 1) box->bytes = int64_t(tensor.storage().nbytes());
  box->tensor = std::move(tensor);
  napi_value external;
  napi_status status = napi_create_external(env, box, finalizeTensor, nullptr, &external);
  if (status != napi_ok) {
    delete box;
    check(env, status);
  }
  tensors += 1;
  bytes += box->bytes;
  return external;
}

napi_value wrap(napi_env env, at::Generator generator) {
  auto* box = new GeneratorBox;
  box->generator = std::move(generator);
  napi_value external;
  check(env, napi_create_external(env, box, finalizeGenerator, nullptr, &external));
  return external;
}

at::Tensor* tensorIn(napi_env env, napi_value value) {
  auto* box = boxIn<TensorBox>(env, value, kTensor);
  return box && box->tensor.defined() ? &box->tensor : nullptr;
}

bool isDisposed(napi_env env, napi_value value) {
  auto* box = boxIn<TensorBox>(env, value, kTensor);
  return box && !box->tensor.defined();
}

at::Tensor& tensorOf(napi_env env, napi_value value) {
  at::Tensor* t = tensorIn(env, value);
  if (!t) throw std::invalid_argument("the tensor is disposed");
  return *t;
}

std::vector<at::Tensor> tensorsOf(napi_env env, napi_value array) {
  uint32_t n;
  check(env, napi_get_array_length(env, array, &n));
  std::vector<at::Tensor> tensors;
  for (uint32_t i = 0; i < n; ++i) {
    napi_value element;
    check(env, napi_get_element(env, array, i, &element));
    tensors.push_back(isNullish(env, element) ? at::Tensor() : tensorOf(env, element));
  }
  return tensors;
}

at::Generator* generatorIn(napi_env env, napi_value value) {
  auto* box = boxIn<GeneratorBox>(env, value, kGenerator);
  return box ? &box->generator : nullptr;
}

void release(napi_env env, napi_value value) {
  if (auto* box = boxIn<TensorBox>(env, value, kTensor)) drop(env, box);
}

void charge(napi_env env, napi_value value) {
  auto* box = boxIn<TensorBox>(env, value, kTensor);
  if (!box || !box->tensor.defined() || box->charged || box->bytes == 0) return;
  box->charged = true;
  adjust(env, box->bytes);
}

int64_t liveTensors() { return tensors; }
int64_t liveBytes() { return bytes; }

}  // namespace grpo

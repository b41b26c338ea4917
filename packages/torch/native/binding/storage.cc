// Tensors from and to JavaScript's typed arrays, and what a tensor says of itself.
#include <ATen/ATen.h>

#include <algorithm>
#include <cstring>

#include "../kernels/stages.h"
#include "handle.h"
#include "recording.h"

namespace grpo {
namespace {

struct Bytes {
  void* data;
  size_t size;
};

Bytes bytesOf(napi_env env, napi_value view) {
  bool isTyped = false;
  check(env, napi_is_typedarray(env, view, &isTyped));
  if (!isTyped) throw std::invalid_argument("expected a typed array");
  static const size_t width[] = {1, 1, 1, 2, 2, 4, 4, 4, 8, 8, 8};
  napi_typedarray_type type;
  size_t length;
  void* data;
  check(env, napi_get_typedarray_info(env, view, &type, &length, &data, nullptr, nullptr));
  if (size_t(type) >= sizeof width / sizeof *width)
    throw std::invalid_argument("typed arrays of this kind are not supported");
  return {data, length * width[type]};
}

// fromBytes(typed array, shape, dtype) → a CPU tensor that owns a copy
napi_value fromBytes(napi_env env, const Arguments& args) {
  uint32_t dims;
  check(env, napi_get_array_length(env, args[1], &dims));
  std::vector<int64_t> shape(dims);
  for (uint32_t i = 0; i < dims; ++i) {
    napi_value size;
    check(env, napi_get_element(env, args[1], i, &size));
    shape[i] = intOf(env, size);
  }
  Bytes source = bytesOf(env, args[0]);  // last: a getter in the shape could have detached the buffer
  at::Tensor t = at::empty(shape, at::TensorOptions().dtype(at::ScalarType(intOf(env, args[2]))));
  if (t.nbytes() != source.size)
    throw std::invalid_argument("the shape needs " + std::to_string(t.nbytes()) + " bytes, the array has " +
                                std::to_string(source.size));
  const auto* bytes = static_cast<const uint8_t*>(source.data);
  if (t.scalar_type() == at::kBool)  // a bool of any other byte than 0 and 1 is undefined behaviour
    std::transform(bytes, bytes + source.size, static_cast<bool*>(t.data_ptr()),
                   [](uint8_t byte) { return byte != 0; });
  else if (source.size)
    std::memcpy(t.data_ptr(), bytes, source.size);
  return wrap(env, t);
}

// By JavaScript's constructor, which throws where the C call ends the process when memory is short.
napi_value arrayBufferOf(napi_env env, size_t size) {
  napi_value global, constructor, buffer, length = toJs(env, int64_t(size));
  check(env, napi_get_global(env, &global));
  check(env, napi_get_named_property(env, global, "ArrayBuffer", &constructor));
  check(env, napi_new_instance(env, constructor, 1, &length, &buffer));
  return buffer;
}

// toBytes(tensor) → an ArrayBuffer with a copy of its elements in row-major order
napi_value toBytes(napi_env env, const Arguments& args) {
  refuseWhileRecording(tensorOf(env, args[0]), "numbers");
  performStages();
  at::Tensor t = tensorOf(env, args[0]).detach().cpu();
  t = (t.layout() == at::kStrided ? t : t.to_dense()).contiguous();
  napi_value buffer = arrayBufferOf(env, t.nbytes());
  void* data;
  check(env, napi_get_arraybuffer_info(env, buffer, &data, nullptr));
  if (t.nbytes()) std::memcpy(data, t.data_ptr(), t.nbytes());
  return buffer;
}

napi_value shape(napi_env env, const Arguments& args) {
  refuseWhileRecording(tensorOf(env, args[0]), "shape");
  auto sizes = tensorOf(env, args[0]).sizes();
  napi_value array = arrayOf(env, sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) check(env, napi_set_element(env, array, i, toJs(env, int64_t(sizes[i]))));
  return array;
}

napi_value dtype(napi_env env, const Arguments& args) {
  return toJs(env, int64_t(tensorOf(env, args[0]).scalar_type()));
}
napi_value device(napi_env env, const Arguments& args) { return toJs(env, tensorOf(env, args[0]).device().str()); }
napi_value isLive(napi_env env, const Arguments& args) { return toJs(env, tensorIn(env, args[0]) != nullptr); }

napi_value isContiguous(napi_env env, const Arguments& args) {
  return toJs(env, tensorOf(env, args[0]).is_contiguous());
}

napi_value dispose(napi_env env, const Arguments& args) {
  release(env, args[0]);
  return undefined(env);
}

napi_value chargeTensor(napi_env env, const Arguments& args) {
  charge(env, args[0]);
  return undefined(env);
}

napi_value memory(napi_env env, const Arguments&) {
  napi_value result;
  check(env, napi_create_object(env, &result));
  set(env, result, "tensors", toJs(env, liveTensors()));
  set(env, result, "bytes", toJs(env, liveBytes()));
  return result;
}

}  // namespace

void registerStorage(napi_env env, napi_value exports) {
  define<fromBytes>(env, exports, "fromBytes");
  define<toBytes>(env, exports, "toBytes");
  define<shape>(env, exports, "shape");
  define<dtype>(env, exports, "dtype");
  define<device>(env, exports, "device");
  define<isLive>(env, exports, "isLive");
  define<isContiguous>(env, exports, "isContiguous");
  define<dispose>(env, exports, "dispose");
  define<chargeTensor>(env, exports, "charge");
  define<memory>(env, exports, "memory");
}

}  // namespace grpo

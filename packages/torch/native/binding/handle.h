// Tensors and generators as JavaScript externals. JavaScript keeps them in private fields, so only ours come back.
#pragma once
#include <ATen/ATen.h>

#include <vector>

#include "napi.h"

namespace grpo {

napi_value wrap(napi_env env, at::Tensor tensor);
napi_value wrap(napi_env env, at::Generator generator);
// Null for a value that is not a live handle of the kind.
at::Tensor* tensorIn(napi_env env, napi_value value);
bool isDisposed(napi_env env, napi_value value);
at::Tensor& tensorOf(napi_env env, napi_value value);
// Those of an array; null and undefined are tensors that are not defined.
std::vector<at::Tensor> tensorsOf(napi_env env, napi_value array);
at::Generator* generatorIn(napi_env env, napi_value value);
// Lets go of the tensor now; the empty box goes with the garbage collector.
void release(napi_env env, napi_value value);
// Tells the collector of memory that it alone will free: for tensors that no scope owns.
void charge(napi_env env, napi_value value);

int64_t liveTensors();
int64_t liveBytes();

}  // namespace grpo

// Calls of operators that JavaScript made, kept to be made again without it.
#pragma once
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include "napi.h"

namespace grpo {

// Whether this thread's calls are being recorded.
bool isRecording();

// For a tensor that is recorded: what JavaScript reads of it may not decide what it calls.
void refuseWhileRecording(const at::Tensor& tensor, const char* what);

// Adds a call to the recording; stages may wait while it is made if it `waits`.
void recordCall(const c10::OperatorHandle& handle, bool waits, const torch::jit::Stack& arguments,
                const torch::jit::Stack& results);

void registerRecording(napi_env env, napi_value exports);

}  // namespace grpo

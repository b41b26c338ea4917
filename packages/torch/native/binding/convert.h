// Values between JavaScript and libtorch, by the types of an operator's schema.
#pragma once
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include "napi.h"

namespace grpo {

c10::IValue toIValue(napi_env env, napi_value value, const c10::TypePtr& type, const c10::Argument& argument);
napi_value fromIValue(napi_env env, const c10::IValue& value);

}  // namespace grpo

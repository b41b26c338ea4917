#include "convert.h"

#include <ATen/ATen.h>
#include <ATen/ScalarOps.h>

#include "handle.h"

namespace grpo {
namespace {

[[noreturn]] void mismatch(napi_env env, napi_value value, const c10::Argument& argument, const std::string& expected) {
  static const char* names[] = {"undefined", "null",      "a boolean",  "a number", "a string",
                                "a symbol",  "an object", "a function", "",         "a bigint"};
  std::string found = names[typeOf(env, value)];
  if (found.empty())
    found = tensorIn(env, value) ? "a tensor" : isDisposed(env, value) ? "a disposed tensor" : "a generator";
  throw std::invalid_argument("argument '" + argument.name() + "' must be " + expected + ", found " + found);
}

// JavaScript has one number type: whole numbers become integers, as in Python, so that integer tensors stay integer.
c10::Scalar scalarOf(napi_env env, napi_value value, const c10::Argument& argument) {
  switch (typeOf(env, value)) {
    case napi_number: {
      double d;
      check(env, napi_get_value_double(env, value, &d));
      if (std::trunc(d) == d && std::abs(d) <= kMaxSafeInteger) return c10::Scalar(int64_t(d));
      return c10::Scalar(d);
    }
    case napi_boolean:
      return c10::Scalar(boolOf(env, value));
    case napi_bigint: {
      int64_t i;
      bool lossless;
      check(env, napi_get_value_bigint_int64(env, value, &i, &lossless));
      if (!lossless) mismatch(env, value, argument, "an integer of 64 bits");
      return c10::Scalar(i);
    }
    default:
      mismatch(env, value, argument, "a number");
  }
}

int64_t integerOf(napi_env env, napi_value value, const c10::Argument& argument) {
  if (typeOf(env, value) != napi_number && typeOf(env, value) != napi_bigint)
    mismatch(env, value, argument, "an integer");
  c10::Scalar s = scalarOf(env, value, argument);
  // A bigint may be larger; no size or index is, and libtorch adds to them without a look.
  if (s.isIntegral(false) && std::abs(double(s.toLong())) > kMaxSafeInteger)
    mismatch(env, value, argument, "an integer within ±(2^53 − 1)");
  if (!s.isIntegral(false))
    throw std::invalid_argument("argument '" + argument.name() + "' must be an integer, found " +
                                std::to_string(s.toDouble()));
  return s.toLong();
}

double doubleOf(napi_env env, napi_value value, const c10::Argument& argument) {
  double d;
  if (napi_get_value_double(env, value, &d) != napi_ok) mismatch(env, value, argument, "a number");
  return d;
}

at::Tensor tensorArgument(napi_env env, napi_value value, const c10::Argument& argument) {
  if (at::Tensor* t = tensorIn(env, value)) return *t;
  // Elsewhere libtorch does not reckon with wrapped numbers: amax writes beyond the end of its result for one.
  const bool operand = argument.name() == "other";
  if (!operand || typeOf(env, value) != napi_number)
    mismatch(env, value, argument, operand ? "a tensor or a number" : "a tensor");
  // A wrapped number takes part in type promotion as a Python scalar does: it never widens the tensor beside it.
  at::Tensor t = c10::scalar_to_tensor(scalarOf(env, value, argument));
  t.unsafeGetTensorImpl()->set_wrapped_number(true);
  return t;
}

template <typename Append>
void forEach(napi_env env, napi_value value, const c10::Argument& argument, Append append) {
  bool isArray = false;
  check(env, napi_is_array(env, value, &isArray));
  if (!isArray) {
    // int[2] and the like accept one number for all places.
    if (argument.N() && typeOf(env, value) == napi_number) {
      for (int32_t i = 0; i < *argument.N(); ++i) append(value);
      return;
    }
    mismatch(env, value, argument, "an array");
  }
  uint32_t n;
  check(env, napi_get_array_length(env, value, &n));
  for (uint32_t i = 0; i < n; ++i) {
    napi_value element;
    check(env, napi_get_element(env, value, i, &element));
    append(element);
  }
}

template <typename T, typename Read>
c10::IValue listOf(napi_env env, napi_value value, const c10::Argument& argument, Read read) {
  c10::List<T> list;
  forEach(env, value, argument, [&](napi_value element) { list.push_back(read(env, element, argument)); });
  return list;
}

c10::IValue toList(napi_env env, napi_value value, const c10::TypePtr& element, const c10::Argument& argument) {
  switch (element->kind()) {
    case c10::TypeKind::TensorType:
      return listOf<at::Tensor>(env, value, argument, tensorArgument);
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
      return listOf<int64_t>(env, value, argument, integerOf);
    case c10::TypeKind::FloatType:
      return listOf<double>(env, value, argument, doubleOf);
    case c10::TypeKind::BoolType:
      return listOf<bool>(env, value, argument, [](napi_env e, napi_value v, const c10::Argument& a) {
        if (typeOf(e, v) != napi_boolean) mismatch(e, v, a, "a list of booleans");
        return boolOf(e, v);
      });
    case c10::TypeKind::NumberType:
      return listOf<c10::Scalar>(env, value, argument, scalarOf);
    case c10::TypeKind::OptionalType: {
      const auto kind = element->castRaw<c10::OptionalType>()->getElementType()->kind();
      if (kind == c10::TypeKind::TensorType)
        return listOf<c10::optional<at::Tensor>>(
            env, value, argument, [](napi_env e, napi_value v, const c10::Argument& a) {
              return isNullish(e, v) ? c10::optional<at::Tensor>() : c10::optional<at::Tensor>(tensorArgument(e, v, a));
            });
      if (kind == c10::TypeKind::NumberType)
        return listOf<c10::optional<c10::Scalar>>(
            env, value, argument, [](napi_env e, napi_value v, const c10::Argument& a) {
              return isNullish(e, v) ? c10::optional<c10::Scalar>() : c10::optional<c10::Scalar>(scalarOf(e, v, a));
            });
      break;
    }
    default:
      break;
  }
  throw std::invalid_argument("argument '" + argument.name() + "': lists of " + element->str() + " are not supported");
}

}  // namespace

c10::IValue toIValue(napi_env env, napi_value value, const c10::TypePtr& type, const c10::Argument& argument) {
  switch (type->kind()) {
    case c10::TypeKind::OptionalType:
      if (isNullish(env, value)) return c10::IValue();
      return toIValue(env, value, type->castRaw<c10::OptionalType>()->getElementType(), argument);
    case c10::TypeKind::TensorType:
      return tensorArgument(env, value, argument);
    case c10::TypeKind::ListType:
      return toList(env, value, type->castRaw<c10::ListType>()->getElementType(), argument);
    case c10::TypeKind::IntType:
    case c10::TypeKind::SymIntType:
    case c10::TypeKind::ScalarTypeType:  // enumerations travel as their number; JavaScript has the table of names
    case c10::TypeKind::LayoutType:
    case c10::TypeKind::MemoryFormatType:
      return integerOf(env, value, argument);
    case c10::TypeKind::FloatType:
      return doubleOf(env, value, argument);
    case c10::TypeKind::BoolType:
      if (typeOf(env, value) != napi_boolean) mismatch(env, value, argument, "a boolean");
      return boolOf(env, value);
    case c10::TypeKind::NumberType:
      return scalarOf(env, value, argument);
    case c10::TypeKind::StringType:
      if (typeOf(env, value) != napi_string) mismatch(env, value, argument, "a string");
      return stringOf(env, value);
    case c10::TypeKind::DeviceObjType:
      if (typeOf(env, value) != napi_string) mismatch(env, value, argument, "a device name such as 'cpu' or 'cuda:0'");
      return c10::Device(stringOf(env, value));
    case c10::TypeKind::GeneratorType:
      if (at::Generator* generator = generatorIn(env, value)) return *generator;
      mismatch(env, value, argument, "a Generator");
    default:
      throw std::invalid_argument("argument '" + argument.name() + "': type " + type->str() + " is not supported");
  }
}

napi_value fromIValue(napi_env env, const c10::IValue& value) {
  if (value.isTensor()) return wrap(env, value.toTensor());
  if (value.isNone()) return null(env);
  if (value.isInt()) return toJs(env, value.toInt());
  if (value.isDouble()) return toJs(env, value.toDouble());
  if (value.isBool()) return toJs(env, value.toBool());
  if (value.isString()) return toJs(env, value.toStringRef());
  if (value.isDevice()) return toJs(env, value.toDevice().str());
  if (value.isList()) {
    auto list = value.toListRef();
    napi_value array = arrayOf(env, list.size());
    for (size_t i = 0; i < list.size(); ++i) check(env, napi_set_element(env, array, i, fromIValue(env, list[i])));
    return array;
  }
  throw std::runtime_error("results of type " + value.tagKind() + " are not supported");
}

}  // namespace grpo

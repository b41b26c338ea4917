// Small helpers over the C Node-API, so that every entry point has one catch-all and one way to fail.
#pragma once
// Basic finalizers, which run inside a collection, exist for addons that declare the experimental version only.
#ifndef NAPI_EXPERIMENTAL
#define NAPI_EXPERIMENTAL
#endif
#define NAPI_VERSION 2147483647
#include <node_api.h>

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace grpo {

// The largest integer up to which a JavaScript number holds every one.
constexpr double kMaxSafeInteger = 9007199254740991.0;

// A pending JavaScript exception: unwinds to the entry point, which returns to JavaScript as is.
struct PendingException {};

inline void check(napi_env env, napi_status status) {
  if (status == napi_ok) return;
  if (status == napi_pending_exception) throw PendingException{};
  const napi_extended_error_info* info = nullptr;
  napi_get_last_error_info(env, &info);
  throw std::runtime_error(info && info->error_message ? info->error_message : "Node-API call failed");
}

inline napi_value undefined(napi_env env) {
  napi_value v;
  check(env, napi_get_undefined(env, &v));
  return v;
}

inline napi_value null(napi_env env) {
  napi_value v;
  check(env, napi_get_null(env, &v));
  return v;
}

inline napi_valuetype typeOf(napi_env env, napi_value v) {
  napi_valuetype t;
  check(env, napi_typeof(env, v, &t));
  return t;
}

inline bool isNullish(napi_env env, napi_value v) {
  napi_valuetype t = typeOf(env, v);
  return t == napi_undefined || t == napi_null;
}

inline napi_value toJs(napi_env env, double d) {
  napi_value v;
  check(env, napi_create_double(env, d, &v));
  return v;
}

inline napi_value toJs(napi_env env, int64_t i) {
  napi_value v;
  check(env, napi_create_int64(env, i, &v));
  return v;
}

inline napi_value toJs(napi_env env, bool b) {
  napi_value v;
  check(env, napi_get_boolean(env, b, &v));
  return v;
}

inline napi_value toJs(napi_env env, const std::string& s) {
  napi_value v;
  check(env, napi_create_string_utf8(env, s.data(), s.size(), &v));
  return v;
}
inline napi_value toJs(napi_env env, const char* s) { return toJs(env, std::string(s)); }

inline std::string stringOf(napi_env env, napi_value v) {
  size_t n = 0;
  if (napi_get_value_string_utf8(env, v, nullptr, 0, &n) != napi_ok) throw std::invalid_argument("expected a string");
  std::string s(n, '\0');
  check(env, napi_get_value_string_utf8(env, v, s.data(), n + 1, &n));
  return s;
}

inline int64_t intOf(napi_env env, napi_value v) {
  double d = 0;
  if (napi_get_value_double(env, v, &d) != napi_ok || std::trunc(d) != d || std::abs(d) > kMaxSafeInteger)
    throw std::invalid_argument("expected a whole number");
  return int64_t(d);
}

inline bool boolOf(napi_env env, napi_value v) {
  bool b = false;
  if (napi_get_value_bool(env, v, &b) != napi_ok) throw std::invalid_argument("expected a boolean");
  return b;
}

inline void set(napi_env env, napi_value object, const char* key, napi_value value) {
  check(env, napi_set_named_property(env, object, key, value));
}

inline napi_value arrayOf(napi_env env, size_t n) {
  napi_value a;
  check(env, napi_create_array_with_length(env, n, &a));
  return a;
}

constexpr size_t kMaxArguments = 24;

struct Arguments {
  size_t count = kMaxArguments;
  napi_value values[kMaxArguments];
  Arguments(napi_env env, napi_callback_info info) {
    check(env, napi_get_cb_info(env, info, &count, values, nullptr, nullptr));
    if (count > kMaxArguments) throw std::invalid_argument("too many arguments");
  }
  napi_value operator[](size_t i) const { return values[i]; }
};

using Entry = napi_value (*)(napi_env, const Arguments&);

std::string messageOf(const std::exception& e);
// "OUT_OF_MEMORY" when a device's or the host's memory did not suffice, else null.
const char* codeOf(const std::exception& e);

// A C++ exception that leaves a Node-API callback aborts the process: every entry goes through here.
template <Entry entry>
napi_value guarded(napi_env env, napi_callback_info info) {
  try {
    return entry(env, Arguments(env, info));
  } catch (const PendingException&) {
  } catch (const std::exception& e) {
    napi_throw_error(env, codeOf(e), messageOf(e).c_str());
  } catch (...) {
    napi_throw_error(env, nullptr, "unknown C++ exception");
  }
  return nullptr;
}

template <Entry entry>
void define(napi_env env, napi_value exports, const char* name) {
  napi_value fn;
  check(env, napi_create_function(env, name, NAPI_AUTO_LENGTH, guarded<entry>, nullptr, &fn));
  set(env, exports, name, fn);
}

void registerStorage(napi_env env, napi_value exports);
void registerDispatch(napi_env env, napi_value exports);
void registerRecording(napi_env env, napi_value exports);
void registerAutograd(napi_env env, napi_value exports);
void registerRuntime(napi_env env, napi_value exports);
void registerSignals(napi_env env, napi_value exports);
// Only in an addon that was built with CUDA's headers.
void registerCudaGraph(napi_env env, napi_value exports);
// Only in an addon for a libtorch with c10d.
void registerProcessGroup(napi_env env, napi_value exports);

}  // namespace grpo

#include <c10/util/Exception.h>

#include "napi.h"

namespace grpo {

std::string messageOf(const std::exception& e) {
  if (auto* error = dynamic_cast<const c10::Error*>(&e)) return error->what_without_backtrace();
  return e.what();
}

}  // namespace grpo

NAPI_MODULE_INIT() {
  try {
    grpo::registerStorage(env, exports);
    grpo::registerDispatch(env, exports);
    grpo::registerAutograd(env, exports);
    grpo::registerRuntime(env, exports);
  } catch (const std::exception& e) {
    napi_throw_error(env, nullptr, e.what());
  } catch (const grpo::PendingException&) {
  }
  return exports;
}

#include <c10/util/Exception.h>
#include <c10/util/Logging.h>

#include <functional>
#include <new>
#include <string>

#include "../kernels/operators.h"
#include "napi.h"

namespace grpo {

std::string messageOf(const std::exception& e) {
  if (auto* error = dynamic_cast<const c10::Error*>(&e)) return error->what_without_backtrace();
  return e.what();
}

// The one place that knows how libtorch says it: by a type where it has one, else by words.
const char* codeOf(const std::exception& e) {
  static const char* phrases[] = {
      "out of memory",               // CUDA's and MPS's allocators in older versions, and the CUDA runtime
      "can't allocate memory",       // the CPU's allocator
      "CUBLAS_STATUS_ALLOC_FAILED",  // a work space of cuBLAS
  };
  bool is = dynamic_cast<const c10::OutOfMemoryError*>(&e) || dynamic_cast<const std::bad_alloc*>(&e);
  const std::string message = messageOf(e);
  for (const char* phrase : phrases) is = is || message.find(phrase) != std::string::npos;
  return is ? "OUT_OF_MEMORY" : nullptr;
}

}  // namespace grpo

NAPI_MODULE_INIT() {
  // No message shows the stack of an error, and finding it takes libtorch 1.13 milliseconds.
  c10::SetStackTraceFetcher(std::function<std::string()>([] { return std::string(); }));
  try {
    grpo::registerStorage(env, exports);
    grpo::registerDispatch(env, exports);
    grpo::registerRecording(env, exports);
    grpo::registerAutograd(env, exports);
    grpo::registerRuntime(env, exports);
    grpo::registerSignals(env, exports);
#ifdef GRPO_CUDA_GRAPHS
    grpo::registerCudaGraph(env, exports);
#endif
#ifdef GRPO_PROCESS_GROUPS
    grpo::registerProcessGroup(env, exports);
#endif
    grpo::registerOperators();
  } catch (const std::exception& e) {
    napi_throw_error(env, nullptr, e.what());
  } catch (const grpo::PendingException&) {}
  return exports;
}

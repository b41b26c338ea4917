// The process around the tensors: threads, random numbers, determinism and devices.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/cuda.h>
#include <torch/version.h>
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 9)
#include <ATen/DeviceAccelerator.h>
#endif

#include <cstring>
#include <mutex>

#include "../kernels/level.h"
#include "../kernels/linear.h"
#include "../kernels/stages.h"
#include "allocator.h"
#include "handle.h"
#include "waiting.h"

namespace grpo {
namespace {

// OpenMP ends the process when the system refuses it a thread.
constexpr int64_t kMostThreads = 1024;

napi_value setThreads(napi_env env, const Arguments& args) {
  const int64_t count = intOf(env, args[0]);
  if (count < 1 || count > kMostThreads)
    throw std::invalid_argument("threads must be a whole number from 1 to " + std::to_string(kMostThreads) +
                                ", found " + std::to_string(count));
  // What was asked for under another number is done under that one.
  performStages();
  at::set_num_threads(int(count));
  watchWaiting();
  return undefined(env);
}

napi_value getThreads(napi_env env, const Arguments&) { return toJs(env, int64_t(at::get_num_threads())); }

napi_value manualSeed(napi_env env, const Arguments& args) {
  at::manual_seed(uint64_t(intOf(env, args[0])));
  return undefined(env);
}

// createGenerator(seed) → a generator of its own, on the CPU
napi_value createGenerator(napi_env env, const Arguments& args) {
  return wrap(env, at::detail::createCPUGenerator(uint64_t(intOf(env, args[0]))));
}

at::Generator generatorOrDefault(napi_env env, napi_value value) {
  at::Generator* own = generatorIn(env, value);
  return own ? *own : at::detail::getDefaultCPUGenerator();
}

// getGeneratorState(generator | null) → uint8 tensor; null means the process-wide CPU generator
napi_value getGeneratorState(napi_env env, const Arguments& args) {
  at::Generator generator = generatorOrDefault(env, args[0]);
  std::lock_guard<std::mutex> lock(generator.mutex());
  return wrap(env, generator.get_state());
}

napi_value setGeneratorState(napi_env env, const Arguments& args) {
  at::Generator generator = generatorOrDefault(env, args[0]);
  std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_state(tensorOf(env, args[1]));
  return undefined(env);
}

napi_value setDeterministic(napi_env env, const Arguments& args) {
  at::globalContext().setDeterministicAlgorithms(boolOf(env, args[0]), /*warn_only=*/false);
  return undefined(env);
}

napi_value cudaDeviceCount(napi_env env, const Arguments&) {
  return toJs(env, torch::cuda::is_available() ? int64_t(torch::cuda::device_count()) : int64_t(0));
}

napi_value synchronize(napi_env env, const Arguments&) {
  performStages();
  if (torch::cuda::is_available()) torch::cuda::synchronize();
  return undefined(env);
}

napi_value mpsAvailable(napi_env env, const Arguments&) { return toJs(env, at::hasMPS()); }

// Returns free memory of the allocators to the system and the device. Where libtorch has no call for the device, its
// allocator does so by itself before it says that memory is short.
napi_value emptyCache(napi_env env, const Arguments&) {
  trimHeap();
#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 9)
  if (at::getAccelerator(/*checked=*/false) && at::accelerator::deviceCount() > 0) at::accelerator::emptyCache();
#endif
  return undefined(env);
}

// cpuLevels() → { names, highest, chosen }: levels of kernels of our own, lowest first; this processor's; the one in
// force
napi_value cpuLevels(napi_env env, const Arguments&) {
  const auto& all = levelNames();
  napi_value names = arrayOf(env, all.size());
  for (size_t i = 0; i < all.size(); ++i) check(env, napi_set_element(env, names, i, toJs(env, all[i])));
  napi_value result;
  check(env, napi_create_object(env, &result));
  set(env, result, "names", names);
  set(env, result, "highest", toJs(env, nameOf(highestLevel())));
  set(env, result, "chosen", toJs(env, nameOf(level())));
  return result;
}

napi_value capCpuLevel(napi_env env, const Arguments& args) {
  performStages();
  capLevel(stringOf(env, args[0]));
  return undefined(env);
}

napi_value compilesEachShape(napi_env env, const Arguments& args) {
  return toJs(env, grpo::compilesEachShape(at::ScalarType(intOf(env, args[0]))));
}

napi_value version(napi_env env, const Arguments&) { return toJs(env, TORCH_VERSION); }
napi_value buildConfiguration(napi_env env, const Arguments&) { return toJs(env, at::show_config()); }

}  // namespace

void registerRuntime(napi_env env, napi_value exports) {
  useAllocator();
  define<setThreads>(env, exports, "setThreads");
  define<getThreads>(env, exports, "getThreads");
  define<manualSeed>(env, exports, "manualSeed");
  define<createGenerator>(env, exports, "createGenerator");
  define<getGeneratorState>(env, exports, "getGeneratorState");
  define<setGeneratorState>(env, exports, "setGeneratorState");
  define<setDeterministic>(env, exports, "setDeterministic");
  define<cudaDeviceCount>(env, exports, "cudaDeviceCount");
  define<synchronize>(env, exports, "synchronize");
  define<mpsAvailable>(env, exports, "mpsAvailable");
  define<emptyCache>(env, exports, "emptyCache");
  define<cpuLevels>(env, exports, "cpuLevels");
  define<capCpuLevel>(env, exports, "capCpuLevel");
  define<compilesEachShape>(env, exports, "compilesEachShape");
  define<version>(env, exports, "version");
  define<buildConfiguration>(env, exports, "buildConfiguration");
}

}  // namespace grpo

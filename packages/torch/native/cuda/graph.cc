// Work of a CUDA device, recorded once and launched again as a whole. Part of the addon only where set-up finds CUDA's
// headers, which those of libtorch's own class include.
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <map>
#include <memory>

#include "../binding/napi.h"

namespace grpo {
namespace {

constexpr uint64_t kGraph = 0x6772706f47726170;

struct GraphBox {
  uint64_t kind = kGraph;
  std::unique_ptr<at::cuda::CUDAGraph> graph = std::make_unique<at::cuda::CUDAGraph>();
};

void finalizeGraph(node_api_basic_env, void* data, void*) { delete static_cast<GraphBox*>(data); }

GraphBox& graphOf(napi_env env, napi_value value) {
  void* data = nullptr;
  auto* box = napi_get_value_external(env, value, &data) == napi_ok ? static_cast<GraphBox*>(data) : nullptr;
  if (!box || box->kind != kGraph || !box->graph) throw std::invalid_argument("the graph is disposed");
  return *box;
}

// Nothing can be recorded on the default stream. One for all graphs of a device: cuBLAS keeps a work space for each.
c10::cuda::CUDAStream captureStream(c10::DeviceIndex device) {
  static std::map<c10::DeviceIndex, c10::cuda::CUDAStream> streams;
  return streams.emplace(device, c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device)).first->second;
}

void run(napi_env env, napi_value body) {
  napi_value result;
  check(env, napi_call_function(env, undefined(env), body, 0, nullptr, &result));
}

void record(napi_env env, at::cuda::CUDAGraph& graph, napi_value body) {
  graph.capture_begin();
  try {
    run(env, body);
  } catch (...) {
    try {
      graph.capture_end();
    } catch (const std::exception&) {
      // The stream has left its recording either way; why that failed is what is thrown below.
    }
    throw;
  }
  graph.capture_end();
}

// captureGraph(device, body) → a graph of what body does. Body runs twice: at first as ever, which makes the handles
// and work spaces that cannot be made while recording, then to be recorded.
napi_value captureGraph(napi_env env, const Arguments& args) {
  const c10::Device device(stringOf(env, args[0]));
  if (!device.is_cuda())
    throw std::invalid_argument("only work of a CUDA device can be recorded, found " + device.str());
  const c10::cuda::CUDAGuard onDevice(device.has_index() ? device
                                                         : c10::Device(c10::kCUDA, c10::cuda::current_device()));
  auto box = std::make_unique<GraphBox>();
  c10::cuda::device_synchronize();
  {
    const c10::cuda::CUDAStreamGuard onStream(captureStream(c10::cuda::current_device()));
    run(env, args[1]);
    c10::cuda::device_synchronize();
    record(env, *box->graph, args[1]);
  }
  napi_value external;
  check(env, napi_create_external(env, box.get(), finalizeGraph, nullptr, &external));
  box.release();
  return external;
}

// The recorded work is queued like any operator's: it comes after what its device was given before.
napi_value replayGraph(napi_env env, const Arguments& args) {
  graphOf(env, args[0]).graph->replay();
  return undefined(env);
}

napi_value disposeGraph(napi_env env, const Arguments& args) {
  graphOf(env, args[0]).graph.reset();
  return undefined(env);
}

}  // namespace

void registerCudaGraph(napi_env env, napi_value exports) {
  define<captureGraph>(env, exports, "captureGraph");
  define<replayGraph>(env, exports, "replayGraph");
  define<disposeGraph>(env, exports, "disposeGraph");
}

}  // namespace grpo

// Calls of operators that JavaScript made once, made again without it: a call from JavaScript takes microseconds.
#include "recording.h"

#include <c10/util/Exception.h>

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "../kernels/stages.h"
#include "handle.h"

namespace grpo {
namespace {

using c10::IValue;

constexpr uint64_t kRecording = 0x6772706f5265636f;

// An argument of a recorded call: what was computed or given at a place, a list with such elements, or the same value
// each time.
struct Recorded {
  std::optional<size_t> place;
  std::vector<Recorded> elements;
  IValue value;
};

struct Call {
  c10::OperatorHandle handle;
  bool waits;
  std::vector<Recorded> arguments;
  // Places of the results, the elements of a list one after another.
  size_t first, count;
  // Places that no later call reads.
  std::vector<size_t> last;
};

struct Recording {
  uint64_t kind = kRecording;
  size_t inputs = 0, places = 0, result = 0;
  std::vector<Call> calls;
};

template <typename Use>
void forEachTensor(const c10::OperatorHandle& handle, const IValue& value, Use use) {
  TORCH_CHECK(value.isTensor() || value.isTensorList(), handle.schema().name(),
              " cannot be recorded: it gives more than tensors");
  if (value.isTensor())
    use(value.toTensor());
  else
    for (const at::Tensor& tensor : value.toTensorList()) use(tensor);
}

// A recording while it is made.
class Recorder {
 public:
  explicit Recorder(Recording& made) : made_(made) {}

  void add(const at::Tensor& tensor) {
    const size_t place = made_.places++;
    if (!tensor.defined()) return;
    places_[tensor.unsafeGetTensorImpl()] = place;
    // Without its numbers, but so that no later tensor has its address.
    known_.emplace_back(tensor.getIntrusivePtr());
  }

  std::optional<size_t> placeOf(const at::Tensor& tensor) const {
    const auto found = places_.find(tensor.unsafeGetTensorImpl());
    return found == places_.end() ? std::optional<size_t>() : found->second;
  }

  void add(const c10::OperatorHandle& handle, bool waits, const torch::jit::Stack& arguments,
           const torch::jit::Stack& results) {
    Call call{handle, waits, {}, made_.places, 0, {}};
    for (const auto& value : arguments) call.arguments.push_back(recorded(value));
    for (const auto& value : results) forEachTensor(handle, value, [&](const at::Tensor& tensor) { add(tensor); });
    call.count = made_.places - call.first;
    made_.calls.push_back(std::move(call));
  }

 private:
  Recorded recorded(const IValue& value) const {
    if (value.isTensor())
      if (const auto place = placeOf(value.toTensor())) return {place, {}, {}};
    Recorded list{{}, {}, value};
    if (value.isTensorList())
      for (const at::Tensor& tensor : value.toTensorList()) list.elements.push_back(recorded(tensor));
    return list;
  }

  Recording& made_;
  std::unordered_map<const c10::TensorImpl*, size_t> places_;
  std::vector<c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>> known_;
};

Recorder*& recorder() {
  static thread_local Recorder* current = nullptr;
  return current;
}

// After this a place is given up by the call that reads it last.
void findLastReaders(Recording& recording) {
  std::vector<bool> read(recording.places);
  read[recording.result] = true;
  for (auto call = recording.calls.rbegin(); call != recording.calls.rend(); ++call) {
    const auto note = [&](size_t place) {
      if (!read[place]) call->last.push_back(place);
      read[place] = true;
    };
    for (const auto& argument : call->arguments) {
      if (argument.place) note(*argument.place);
      for (const auto& element : argument.elements)
        if (element.place) note(*element.place);
    }
    for (size_t i = 0; i < call->count; ++i) note(call->first + i);
  }
}

void finalizeRecording(node_api_basic_env, void* data, void*) { delete static_cast<Recording*>(data); }

Recording& recordingOf(napi_env env, napi_value value) {
  void* data = nullptr;
  auto* recording = napi_get_value_external(env, value, &data) == napi_ok ? static_cast<Recording*>(data) : nullptr;
  if (!recording || recording->kind != kRecording) throw std::invalid_argument("expected a recording");
  return *recording;
}

// record(inputs, body) → a recording of the operators that body calls; body gives its result
napi_value record(napi_env env, const Arguments& args) {
  TORCH_CHECK(!isRecording(), "calls are being recorded already");
  auto made = std::make_unique<Recording>();
  Recorder current(*made);
  for (const auto& input : tensorsOf(env, args[0])) {
    TORCH_CHECK(!current.placeOf(input), "an input is given twice");
    current.add(input);
  }
  made->inputs = made->places;
  recorder() = &current;
  napi_value result;
  const napi_status status = napi_call_function(env, undefined(env), args[1], 0, nullptr, &result);
  recorder() = nullptr;
  check(env, status);
  const auto place = current.placeOf(tensorOf(env, result));
  TORCH_CHECK(place, "the result was not computed while calls were recorded");
  made->result = *place;
  findLastReaders(*made);
  napi_value external;
  check(env, napi_create_external(env, made.get(), finalizeRecording, nullptr, &external));
  made.release();
  return external;
}

IValue valueOf(const Recorded& argument, const std::vector<at::Tensor>& places) {
  if (argument.place) return places[*argument.place];
  if (argument.elements.empty()) return argument.value;
  c10::List<at::Tensor> list;
  for (const auto& element : argument.elements) list.push_back(valueOf(element, places).toTensor());
  return list;
}

void make(const Call& call, std::vector<at::Tensor>& places, torch::jit::Stack& stack) {
  stack.clear();
  for (const auto& argument : call.arguments) stack.push_back(valueOf(argument, places));
  if (!call.waits) performStages();
  call.handle.callBoxed(stack);
  size_t given = 0;
  for (const auto& value : stack)
    forEachTensor(call.handle, value, [&](const at::Tensor& tensor) {
      if (given < call.count) places[call.first + given] = tensor;
      ++given;
    });
  TORCH_CHECK(given == call.count, call.handle.schema().name(), " gave ", given, " tensors; when it was recorded, ",
              call.count);
  for (const size_t place : call.last) places[place].reset();
}

// replay(recording, inputs) → the result for these inputs
napi_value replay(napi_env env, const Arguments& args) {
  const Recording& recording = recordingOf(env, args[0]);
  std::vector<at::Tensor> places = tensorsOf(env, args[1]);
  TORCH_CHECK(places.size() == recording.inputs, "the recording takes ", recording.inputs, " inputs, found ",
              places.size());
  places.resize(recording.places);
  performWhile([&] {
    torch::jit::Stack stack;
    for (const auto& call : recording.calls) make(call, places, stack);
  });
  return wrap(env, places[recording.result]);
}

// disposeRecording(recording) lets go of the tensors that it holds; it is not to be used any more
napi_value disposeRecording(napi_env env, const Arguments& args) {
  recordingOf(env, args[0]).calls.clear();
  return undefined(env);
}

}  // namespace

bool isRecording() { return recorder() != nullptr; }

void refuseWhileRecording(const at::Tensor& tensor, const char* what) {
  TORCH_CHECK(!isRecording() || !recorder()->placeOf(tensor), "a tensor's ", what,
              " cannot be read while calls are recorded: another time it is another");
}

void recordCall(const c10::OperatorHandle& handle, bool waits, const torch::jit::Stack& arguments,
                const torch::jit::Stack& results) {
  recorder()->add(handle, waits, arguments, results);
}

void registerRecording(napi_env env, napi_value exports) {
  define<record>(env, exports, "record");
  define<replay>(env, exports, "replay");
  define<disposeRecording>(env, exports, "disposeRecording");
}

}  // namespace grpo

#include "mailbox.h"

#include <cstring>

namespace grpo {
namespace {

napi_value bytes(napi_env env, const std::vector<uint8_t>& from) {
  void* data = nullptr;
  napi_value buffer;
  check(env, napi_create_arraybuffer(env, from.size(), &data, &buffer));
  if (!from.empty()) std::memcpy(data, from.data(), from.size());
  return buffer;
}

template <typename Value, typename Convert>
napi_value list(napi_env env, const std::vector<Value>& values, Convert convert) {
  napi_value array = arrayOf(env, values.size());
  for (size_t i = 0; i < values.size(); ++i) check(env, napi_set_element(env, array, i, convert(values[i])));
  return array;
}

napi_value objectOf(napi_env env, const GroupEvent& event) {
  static const char* kinds[] = {"missing", "done", "failed", "lost", "serving"};
  napi_value object;
  check(env, napi_create_object(env, &object));
  set(env, object, "kind", toJs(env, kinds[event.kind]));
  set(env, object, "id", toJs(env, event.id));
  set(env, object, "ranks", list(env, event.ranks, [&](int rank) { return toJs(env, int64_t(rank)); }));
  set(env, object, "reason", toJs(env, event.reason));
  set(env, object, "gathered", list(env, event.gathered, [&](const auto& each) { return bytes(env, each); }));
  set(env, object, "port", toJs(env, int64_t(event.port)));
  return object;
}

}  // namespace

Mailbox::Mailbox(napi_env env, napi_value listener) {
  check(env, napi_create_threadsafe_function(env, listener, nullptr, toJs(env, "processGroup"), 0, 1, nullptr, nullptr,
                                             this, deliver, &calls_));
  check(env, napi_unref_threadsafe_function(env, calls_));
}

void Mailbox::post(GroupEvent event) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!calls_) return;
  auto* message = new GroupEvent(std::move(event));
  if (napi_call_threadsafe_function(calls_, message, napi_tsfn_nonblocking) != napi_ok) delete message;
}

void Mailbox::hold(napi_env env, bool holds) {
  check(env, holds ? napi_ref_threadsafe_function(env, calls_) : napi_unref_threadsafe_function(env, calls_));
}

void Mailbox::close() {
  std::lock_guard<std::mutex> lock(mutex_);
  calls_ = nullptr;
}

void Mailbox::deliver(napi_env env, napi_value listener, void*, void* data) {
  const std::unique_ptr<GroupEvent> event(static_cast<GroupEvent*>(data));
  // Without an environment it ends.
  if (!env) return;
  try {
    napi_value object = objectOf(env, *event), result;
    check(env, napi_call_function(env, undefined(env), listener, 1, &object, &result));
  } catch (const PendingException&) {
    // Node reports what the listener threw.
  } catch (const std::exception& e) {
    napi_throw_error(env, nullptr, e.what());
  }
}

}  // namespace grpo

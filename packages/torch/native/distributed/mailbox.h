// The way from a group's threads to JavaScript.
#pragma once
#include <memory>
#include <mutex>

#include "../binding/napi.h"
#include "group.h"

namespace grpo {

class Mailbox {
 public:
  Mailbox(napi_env env, napi_value listener);

  // From any thread: calls the listener in the event loop's next turn. Does nothing once closed.
  void post(GroupEvent event);

  // Whether the event loop goes on until there is something to deliver.
  void hold(napi_env env, bool holds);

  // The environment ends.
  void close();

 private:
  static void deliver(napi_env env, napi_value listener, void* mailbox, void* event);

  std::mutex mutex_;
  napi_threadsafe_function calls_ = nullptr;
};

}  // namespace grpo

// The group's entry points for JavaScript.
#include "../binding/handle.h"
#include "../kernels/stages.h"
#include <map>

#include "buckets.h"
#include "mailbox.h"

namespace grpo {
namespace {

constexpr uint64_t kGroup = 0x6772706f50656572;

struct GroupBox {
  uint64_t kind = kGroup;
  std::shared_ptr<Mailbox> mailbox;
  std::shared_ptr<Group> group;
};

GroupBox& boxOf(napi_env env, napi_value value) {
  void* data = nullptr;
  auto* box = napi_get_value_external(env, value, &data) == napi_ok ? static_cast<GroupBox*>(data) : nullptr;
  if (!box || box->kind != kGroup) throw std::invalid_argument("expected a process group");
  return *box;
}

napi_value get(napi_env env, napi_value object, const char* key) {
  napi_value value;
  check(env, napi_get_named_property(env, object, key, &value));
  return value;
}

GroupOptions optionsOf(napi_env env, napi_value object) {
  GroupOptions options;
  options.rank = int(intOf(env, get(env, object, "rank")));
  options.size = int(intOf(env, get(env, object, "size")));
  options.host = stringOf(env, get(env, object, "host"));
  options.port = int(intOf(env, get(env, object, "port")));
  options.servesStore = boolOf(env, get(env, object, "servesStore"));
  options.prefix = stringOf(env, get(env, object, "prefix"));
  options.timeout = std::chrono::seconds(intOf(env, get(env, object, "timeoutSeconds")));
  return options;
}

void closeMailbox(void* box) { static_cast<GroupBox*>(box)->mailbox->close(); }

// joinGroup(options, listener) → a group; the listener hears that call 0 is done when all have come
napi_value joinGroup(napi_env env, const Arguments& args) {
  // Never freed: the end of the environment needs it, and a process joins once.
  auto* box = new GroupBox;
  box->mailbox = std::make_shared<Mailbox>(env, args[1]);
  box->group = std::make_shared<Group>(optionsOf(env, args[0]),
                                       [mailbox = box->mailbox](GroupEvent event) { mailbox->post(std::move(event)); });
  check(env, napi_add_env_cleanup_hook(env, closeMailbox, box));
  box->group->start();
  napi_value external;
  check(env, napi_create_external(env, box, nullptr, nullptr, &external));
  return external;
}

// callGroup(group, id, kind, tensors, bytes)
napi_value callGroup(napi_env env, const Arguments& args) {
  static const std::map<std::string, GroupCall::Kind> kinds = {{"sum", GroupCall::kSum},
                                                               {"broadcast", GroupCall::kBroadcast},
                                                               {"gather", GroupCall::kGather},
                                                               {"barrier", GroupCall::kBarrier}};
  auto& box = boxOf(env, args[0]);
  GroupCall call{intOf(env, args[1]), kinds.at(stringOf(env, args[2]))};
  // The thread of the collectives reads them.
  performStages();
  uint32_t count;
  check(env, napi_get_array_length(env, args[3], &count));
  for (uint32_t i = 0; i < count; ++i) {
    napi_value handle;
    check(env, napi_get_element(env, args[3], i, &handle));
    call.tensors.push_back(tensorOf(env, handle));
    if (call.kind == GroupCall::kSum) sumType(call.tensors.back().scalar_type());
  }
  void* data;
  size_t size;
  check(env, napi_get_typedarray_info(env, args[4], nullptr, &size, &data, nullptr, nullptr));
  call.bytes.assign(static_cast<uint8_t*>(data), static_cast<uint8_t*>(data) + size);
  box.group->call(std::move(call));
  return undefined(env);
}

// holdLoop(group, holds): whether the event loop goes on until the listener hears something
napi_value holdLoop(napi_env env, const Arguments& args) {
  boxOf(env, args[0]).mailbox->hold(env, boolOf(env, args[1]));
  return undefined(env);
}

napi_value tellProgress(napi_env env, const Arguments& args) {
  boxOf(env, args[0]).group->progress();
  return undefined(env);
}

napi_value failGroup(napi_env env, const Arguments& args) {
  boxOf(env, args[0]).group->fail(stringOf(env, args[1]));
  return undefined(env);
}

// leaveGroup(group, id): the listener hears when it is done
napi_value leaveGroup(napi_env env, const Arguments& args) {
  auto& box = boxOf(env, args[0]);
  box.group->leave(intOf(env, args[1]));
  return undefined(env);
}

}  // namespace

void registerProcessGroup(napi_env env, napi_value exports) {
  define<joinGroup>(env, exports, "joinGroup");
  define<callGroup>(env, exports, "callGroup");
  define<holdLoop>(env, exports, "holdLoop");
  define<tellProgress>(env, exports, "tellProgress");
  define<failGroup>(env, exports, "failGroup");
  define<leaveGroup>(env, exports, "leaveGroup");
}

}  // namespace grpo

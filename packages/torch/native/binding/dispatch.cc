// Every ATen operator through one boxed call: an operator is resolved once and then called by its number.
#include <ATen/core/dispatch/Dispatcher.h>

#include <deque>
#include <sstream>

#include "../kernels/stages.h"
#include "convert.h"
#include "recording.h"

namespace grpo {
namespace {

struct Operator {
  c10::OperatorHandle handle;
  // Writes into its first argument and returns just that: JavaScript has a handle to it already.
  bool inPlace;
  // Stages may wait while it is called.
  bool canWait;
};

// One table a thread, as every worker loads the addon for itself; a deque, so that references outlive its growth.
std::deque<Operator>& operators() {
  static thread_local std::deque<Operator> all;
  return all;
}

bool writes(const c10::Argument& argument) {
  return argument.alias_info() != nullptr && argument.alias_info()->isWrite();
}

// resolve(name, overload) → { id, schema, arguments: [{ name, type, keywordOnly, optional }], returns: [type] } or null
napi_value resolve(napi_env env, const Arguments& args) {
  auto handle = c10::Dispatcher::singleton().findSchema({stringOf(env, args[0]), stringOf(env, args[1])});
  if (!handle) return null(env);
  const auto& schema = handle->schema();
  const bool inPlace = !schema.arguments().empty() && writes(schema.arguments()[0]) && schema.returns().size() == 1;
  operators().push_back({*handle, inPlace, letsStagesWait(stringOf(env, args[0]))});
  std::ostringstream text;
  text << schema;
  napi_value result;
  check(env, napi_create_object(env, &result));
  set(env, result, "id", toJs(env, int64_t(operators().size() - 1)));
  set(env, result, "schema", toJs(env, text.str()));
  napi_value arguments = arrayOf(env, schema.arguments().size());
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const auto& a = schema.arguments()[i];
    napi_value entry;
    check(env, napi_create_object(env, &entry));
    set(env, entry, "name", toJs(env, a.name()));
    set(env, entry, "type", toJs(env, a.real_type()->str()));
    set(env, entry, "keywordOnly", toJs(env, a.kwarg_only()));
    set(env, entry, "optional", toJs(env, a.default_value().has_value()));
    check(env, napi_set_element(env, arguments, i, entry));
  }
  set(env, result, "arguments", arguments);
  napi_value returns = arrayOf(env, schema.returns().size());
  for (size_t i = 0; i < schema.returns().size(); ++i)
    check(env, napi_set_element(env, returns, i, toJs(env, schema.returns()[i].real_type()->str())));
  set(env, result, "returns", returns);
  set(env, result, "inPlace", toJs(env, inPlace));
  return result;
}

// call(id, ...arguments): an undefined argument takes the schema's default. An in-place operator returns nothing.
napi_value call(napi_env env, const Arguments& args) {
  const auto& [handle, inPlace, canWait] = operators().at(size_t(intOf(env, args[0])));
  const auto& formal = handle.schema().arguments();
  if (args.count - 1 > formal.size())
    throw std::invalid_argument("at most " + std::to_string(formal.size()) + " arguments are taken");
  torch::jit::Stack stack;
  stack.reserve(formal.size());
  for (size_t i = 0; i < formal.size(); ++i) {
    const bool given = i + 1 < args.count && typeOf(env, args[i + 1]) != napi_undefined;
    if (given)
      stack.push_back(toIValue(env, args[i + 1], formal[i].real_type(), formal[i]));
    else if (formal[i].default_value())
      stack.push_back(*formal[i].default_value());
    else
      throw std::invalid_argument("argument '" + formal[i].name() + "' is missing");
  }
  if (!canWait) performStages();
  torch::jit::Stack given;
  if (isRecording()) given = stack;
  handle.callBoxed(stack);
  if (isRecording()) recordCall(handle, canWait, given, stack);
  if (inPlace || stack.empty()) return undefined(env);
  if (stack.size() == 1) return fromIValue(env, stack[0]);
  napi_value results = arrayOf(env, stack.size());
  for (size_t i = 0; i < stack.size(); ++i) check(env, napi_set_element(env, results, i, fromIValue(env, stack[i])));
  return results;
}

}  // namespace

void registerDispatch(napi_env env, napi_value exports) {
  define<resolve>(env, exports, "resolve");
  define<call>(env, exports, "call");
}

}  // namespace grpo

// Signals that arrive while an operator or a backward pass keeps Node's event loop from its turn.
#include <csignal>
#include <ctime>

#include "napi.h"

namespace grpo {
namespace {

// Work that reports its progress hears a signal sooner than in so many seconds.
constexpr double kPatience = 5;

volatile std::sig_atomic_t arrived = 0;
volatile double interrupted = 0;
struct sigaction before[NSIG];

double seconds() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}

// A Ctrl-C long after one that nobody has taken: JavaScript that does not let go would never hear any. It ends the
// process, as without a handler.
void endUnheard(int number) {
  const double now = seconds();
  if (arrived != number) {
    interrupted = now;
  } else if (now - interrupted > kPatience) {
    std::signal(number, SIG_DFL);
    std::raise(number);
  }
}

// Remembers the signal, and lets whoever had it handle it: Node, which does so when its event loop has its turn.
void remember(int number, siginfo_t* info, void* context) {
  if (number == SIGINT) endUnheard(number);
  arrived = number;
  const auto& next = before[number];
  if (next.sa_flags & SA_SIGINFO)
    next.sa_sigaction(number, info, context);
  else
    next.sa_handler(number);
}

// watchSignal(number): remembers it from now on, until Node stops handling it; only one that is handled
napi_value watchSignal(napi_env env, const Arguments& args) {
  const int64_t number = intOf(env, args[0]);
  struct sigaction current = {};
  if (number < 1 || number >= NSIG || sigaction(int(number), nullptr, &current) != 0)
    throw std::invalid_argument("there is no signal " + std::to_string(number));
  const bool isOurs = (current.sa_flags & SA_SIGINFO) && current.sa_sigaction == remember;
  const bool isHandled =
      (current.sa_flags & SA_SIGINFO) || (current.sa_handler != SIG_DFL && current.sa_handler != SIG_IGN);
  if (isOurs || !isHandled) return undefined(env);
  before[number] = current;
  struct sigaction ours = current;
  ours.sa_flags |= SA_SIGINFO;
  ours.sa_sigaction = remember;
  sigaction(int(number), &ours, nullptr);
  return undefined(env);
}

// takeSignal() → number of the last signal since the last call; 0 without one
napi_value takeSignal(napi_env env, const Arguments&) {
  const int number = arrived;
  arrived = 0;
  return toJs(env, int64_t(number));
}

}  // namespace

void registerSignals(napi_env env, napi_value exports) {
  define<watchSignal>(env, exports, "watchSignal");
  define<takeSignal>(env, exports, "takeSignal");
}

}  // namespace grpo

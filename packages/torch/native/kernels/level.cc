#include "level.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>

namespace grpo {
namespace {

std::atomic<Level> cap{Level::avx512_bf16};

Level detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Level::base;
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (!wide) return Level::avx2;
  return __builtin_cpu_supports("avx512bf16") ? Level::avx512_bf16 : Level::avx512;
#else
  return Level::base;
#endif
}

}  // namespace

Level highestLevel() {
  static const Level highest = detect();
  return highest;
}

Level level() { return std::min(highestLevel(), cap.load(std::memory_order_relaxed)); }

const std::vector<std::string>& levelNames() {
  static const std::vector<std::string> names{"base", "avx2", "avx512", "avx512_bf16"};
  return names;
}

const std::string& nameOf(Level level) { return levelNames()[size_t(level)]; }

void capLevel(const std::string& name) {
  const auto& names = levelNames();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw std::invalid_argument("no level of instruction sets is called '" + name + "'");
  cap = Level(found - names.begin());
}

}  // namespace grpo

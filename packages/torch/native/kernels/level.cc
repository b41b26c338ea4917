#include "level.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

namespace grpo {
namespace {

std::atomic<Level> cap{Level::amx};

#if defined(__x86_64__)
// A process has to ask the system for the tiles' registers.
bool mayUseTiles() {
#if defined(__linux__)
  constexpr unsigned BFLOAT16 = 1u << 22, TILES = 1u << 24;
  constexpr int ASK = 0x1023, TILE_DATA = 18;
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool known = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & BFLOAT16) && (d & TILES);
  return known && syscall(SYS_arch_prctl, ASK, TILE_DATA) == 0;
#else
  return false;
#endif
}
#endif

Level detect() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Level::base;
  const bool wide = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (!wide) return Level::avx2;
  if (!__builtin_cpu_supports("avx512bf16")) return Level::avx512;
  return mayUseTiles() ? Level::amx : Level::avx512_bf16;
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
  static const std::vector<std::string> names{"base", "avx2", "avx512", "avx512_bf16", "amx"};
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

// The instruction sets that kernels of our own are compiled for.
#pragma once
#include <string>
#include <vector>

#if !defined(__clang__) && __GNUC__ < 12
#error "Kernels need GCC 12 or newer, or clang."
#endif

namespace grpo {

// Each has all that the ones before it have. `base` is what every processor of the architecture has: SSE2 on x86-64,
// NEON on ARM. The others are x86: avx2 (with fma), avx512 (f, bw, dq, vl), avx512_bf16, and amx (tile, bf16).
enum class Level { base, avx2, avx512, avx512_bf16, amx };

// The level that kernels run at: the processor's highest, or the cap where that is lower.
Level level();
Level highestLevel();

// Every name, lowest first, whatever the processor has.
const std::vector<std::string>& levelNames();
const std::string& nameOf(Level level);
// Throws std::invalid_argument for a name that is none.
void capLevel(const std::string& name);

}  // namespace grpo

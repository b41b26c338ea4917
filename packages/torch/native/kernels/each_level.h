// Includes KERNELS, the name of a header, once for each level, behind vector.h and in a namespace of the level's name:
// one object file has all of them, since the addon may run on another machine than it was built on. AT_LEVEL(f) is the
// kernel f for the level in force. Levels avx512_bf16 and amx have kernels of their own where KERNELS_MULTIPLY_BFLOAT16
// is defined.
//
// What kernels include has to be included before: standard functions would else be compiled for a level, and the linker
// keeps one of several equal ones. The namespaces without a name keep kernels of equal name in two files apart.
#include <c10/util/BFloat16.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "level.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace grpo::base {
namespace {
#define LANES 4
#if defined(__x86_64__)
#define REGISTERS 16
#else
#define REGISTERS 32
#endif
#include "vector.h"
#include KERNELS
#undef LANES
#undef REGISTERS
}  // namespace
}  // namespace grpo::base

#if defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
namespace grpo::avx2 {
namespace {
#define LANES 8
#define REGISTERS 16
#include "vector.h"
#include KERNELS
#undef LANES
#undef REGISTERS
}  // namespace
}  // namespace grpo::avx2
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#define LANES 16
#define REGISTERS 32

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,fma")
#endif
namespace grpo::avx512 {
namespace {
#include "vector.h"
#include KERNELS
}  // namespace
}  // namespace grpo::avx512
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#if defined(KERNELS_MULTIPLY_BFLOAT16)
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,fma"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,fma")
#endif
namespace grpo::avx512_bf16 {
namespace {
#define MULTIPLIES_BFLOAT16
#include "vector.h"
#include KERNELS
}  // namespace
}  // namespace grpo::avx512_bf16
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(                                                                       \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,amx-tile,amx-bf16,fma"))), \
    apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,amx-tile,amx-bf16,fma")
#endif
namespace grpo::amx {
namespace {
#define MULTIPLIES_TILES
#include "vector.h"
#include KERNELS
#undef MULTIPLIES_TILES
#undef MULTIPLIES_BFLOAT16
}  // namespace
}  // namespace grpo::amx
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#else
namespace grpo {
namespace avx512_bf16 = avx512;
namespace amx = avx512;
}  // namespace grpo
#endif

#undef LANES
#undef REGISTERS

namespace grpo {
template <class Function>
Function* atLevel(Function* base, Function* avx2, Function* avx512, Function* avx512_bf16, Function* amx) {
  switch (level()) {
    case Level::amx:
      return amx;
    case Level::avx512_bf16:
      return avx512_bf16;
    case Level::avx512:
      return avx512;
    case Level::avx2:
      return avx2;
    default:
      return base;
  }
}
}  // namespace grpo
#define AT_LEVEL(...) \
  ::grpo::atLevel(base::__VA_ARGS__, avx2::__VA_ARGS__, avx512::__VA_ARGS__, avx512_bf16::__VA_ARGS__, amx::__VA_ARGS__)

#else
#define AT_LEVEL(...) base::__VA_ARGS__
#endif

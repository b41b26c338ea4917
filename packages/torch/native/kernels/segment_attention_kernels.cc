// The kernels of segment attention for each instruction set: the addon may be used on another machine than it was
// built on.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "segment_attention.h"

namespace grpo::segment_attention {

namespace base {
#define LANES 4
#if defined(__x86_64__)
#define REGISTERS 16
#else
#define REGISTERS 32
#endif
#include "vector_math.h"
#include "segment_attention_kernel.h"
#undef INLINE
#undef LANES
#undef REGISTERS
}  // namespace base

#if defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
namespace avx2 {
#define LANES 8
#define REGISTERS 16
#include "vector_math.h"
#include "segment_attention_kernel.h"
#undef INLINE
#undef LANES
#undef REGISTERS
}  // namespace avx2
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,fma")
#endif
namespace avx512 {
#define LANES 16
#define REGISTERS 32
#include "vector_math.h"
#include "segment_attention_kernel.h"
#undef INLINE
#undef LANES
#undef REGISTERS
}  // namespace avx512
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif

template <class T>
const Kernels<T>& kernels() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) return avx512::table<T>;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2::table<T>;
#endif
  return base::table<T>;
}

template const Kernels<float>& kernels<float>();
template const Kernels<Half>& kernels<Half>();

}  // namespace grpo::segment_attention

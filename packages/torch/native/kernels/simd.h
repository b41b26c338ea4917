// Sixteen floats at once, in plain C++: compilers make of them whatever vectors the processor has. A function marked
// GRPO_CLONES exists for several processors, and the one for this machine is picked when the addon is loaded; helpers
// are inlined into it, and so are compiled for it.
#pragma once
#include <c10/util/BFloat16.h>

#include <cstdint>
#include <cstring>

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#if __GNUC__ >= 12
#define GRPO_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define GRPO_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#endif
#else
#define GRPO_CLONES
#endif

#define GRPO_INLINE inline __attribute__((always_inline))
// Before a loop of a few turns whose vectors are to stay in registers.
#if defined(__clang__)
#define GRPO_UNROLL _Pragma("clang loop unroll(full)")
#else
#define GRPO_UNROLL _Pragma("GCC unroll 8")
#endif
#define GRPO_INLINED __attribute__((always_inline))

// Vectors are passed to inlined functions only: how a call would pass them does not matter.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

namespace grpo {

constexpr int64_t LANES = 16;

typedef float Floats __attribute__((vector_size(64)));
typedef int32_t Ints __attribute__((vector_size(64)));
typedef uint32_t Bits __attribute__((vector_size(64)));
typedef uint16_t Halves __attribute__((vector_size(32)));
typedef float HalfFloats __attribute__((vector_size(32)));
typedef double Doubles __attribute__((vector_size(64)));

GRPO_INLINE Floats load(const float* from) {
  Floats x;
  std::memcpy(&x, from, sizeof x);
  return x;
}

GRPO_INLINE Floats load(const c10::BFloat16* from) {
  Halves x;
  std::memcpy(&x, from, sizeof x);
  return (Floats)(__builtin_convertvector(x, Bits) << 16);
}

GRPO_INLINE void store(float* to, Floats x) { std::memcpy(to, &x, sizeof x); }

// Rounded to the nearest, ties to even; NaN stays NaN.
GRPO_INLINE void store(c10::BFloat16* to, Floats x) {
  const Bits bits = (Bits)x;
  const Bits rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const Halves out = __builtin_convertvector((x == x) ? rounded : (Bits{} + 0x7fc0), Halves);
  std::memcpy(to, &out, sizeof out);
}

// The first `count` of sixteen, zeros behind.
template <typename T>
GRPO_INLINE Floats loadFirst(const T* from, int64_t count) {
  T all[LANES] = {};
  std::memcpy(all, from, sizeof(T) * count);
  return load(all);
}

template <typename T>
GRPO_INLINE void storeFirst(T* to, Floats x, int64_t count) {
  T all[LANES];
  store(all, x);
  std::memcpy(to, all, sizeof(T) * count);
}

// body(i, count) for each sixteen of n elements, and for what is left.
template <typename Body>
GRPO_INLINE void eachSixteen(int64_t n, const Body& body) {
  for (int64_t i = 0; i < n; i += LANES) body(i, n - i < LANES ? n - i : LANES);
}

template <typename T>
GRPO_INLINE Floats loadUpTo(const T* from, int64_t count) {
  return count == LANES ? load(from) : loadFirst(from, count);
}

template <typename T>
GRPO_INLINE void storeUpTo(T* to, Floats x, int64_t count) {
  if (count == LANES)
    store(to, x);
  else
    storeFirst(to, x, count);
}

GRPO_INLINE Floats maximum(Floats a, Floats b) { return (a > b) ? a : b; }

// In a fixed order, so that a sum is the same on every machine of a kind.
GRPO_INLINE float sumOf(Floats x) {
  float all[LANES];
  store(all, x);
  for (int64_t width = LANES / 2; width > 0; width /= 2)
    for (int64_t i = 0; i < width; ++i) all[i] += all[i + width];
  return all[0];
}

// Sums of many floats are kept in float64.
GRPO_INLINE double sumOf(Doubles x) { return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7])); }

GRPO_INLINE void addTo(Doubles& sum, Floats x) {
  const HalfFloats low = __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7), high = __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
  sum += __builtin_convertvector(low, Doubles) + __builtin_convertvector(high, Doubles);
}

GRPO_INLINE float maximumOf(Floats x) {
  float most = x[0];
  for (int64_t i = 1; i < LANES; ++i) most = x[i] > most ? x[i] : most;
  return most;
}

// e^x to about one unit in the last place; 0 where it would be less than the smallest normal number, and infinity where
// it would be near the largest.
GRPO_INLINE Floats expOf(Floats x) {
  const Floats in = x > 88.3f ? Floats{} + 88.3f : x < -87.3f ? Floats{} - 87.3f : x;
  // Added and taken away again, this leaves the nearest integer.
  const float magic = 12582912.f;
  const Floats shifted = in * 1.44269504f + magic;
  const Floats n = shifted - magic;
  const Floats r = (in - n * 0.693359375f) + n * 2.12194440e-4f;
  Floats p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + r + 1.f;
  const Floats power = (Floats)((((Ints)shifted - (Ints)(Floats{} + magic)) + 127) << 23);
  const Floats y = p * power;
  return x < -87.3f ? Floats{} : x > 88.3f ? Floats{} + __builtin_inff() : x == x ? y : x;
}

}  // namespace grpo

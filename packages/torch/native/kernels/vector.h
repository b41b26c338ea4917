// A vector of LANES floats in plain C++, and what kernels are made of. Without a guard: each_level.h includes it once
// for each level.

typedef float Vector __attribute__((vector_size(LANES * 4)));
typedef int32_t Integers __attribute__((vector_size(LANES * 4)));
typedef uint32_t Bits __attribute__((vector_size(LANES * 4)));
typedef uint16_t Halves __attribute__((vector_size(LANES * 2)));
typedef float HalfVector __attribute__((vector_size(LANES * 2)));
// As many numbers as half a vector has.
typedef double Doubles __attribute__((vector_size(LANES * 4)));

#define INLINE inline __attribute__((always_inline))
// Behind the parameters of a lambda.
#define INLINED __attribute__((always_inline))
// UNROLL: before a loop of a few turns whose vectors are to stay in registers. FOUR_AT_ONCE: before a long loop with a
// short body, whose turning back costs more or less depending on where the code happens to lie, and on what else the
// core does.
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#define FOUR_AT_ONCE _Pragma("clang loop unroll_count(4)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#define FOUR_AT_ONCE _Pragma("GCC unroll 4")
#endif

template <class To, class From>
INLINE To bitsOf(From from) {
  To to;
  static_assert(sizeof to == sizeof from);
  std::memcpy(&to, &from, sizeof to);
  return to;
}

template <class T>
INLINE T read(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

INLINE Vector load(const float* from) { return read<Vector>(from); }
INLINE Vector load(const c10::BFloat16* from) {
  return bitsOf<Vector>(__builtin_convertvector(read<Halves>(from), Bits) << 16);
}

INLINE void store(float* to, Vector x) { std::memcpy(to, &x, sizeof x); }

// To the nearest bfloat16, of two to the even one; a NaN stays one.
INLINE void store(c10::BFloat16* to, Vector x) {
  const Bits bits = bitsOf<Bits>(x);
  const Bits rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const Halves halves = __builtin_convertvector(x == x ? rounded : Bits{} + 0x7fc0, Halves);
  std::memcpy(to, &halves, sizeof halves);
}

// The first `count` of a vector, zeros behind.
template <class T>
INLINE Vector loadFirst(const T* from, int64_t count) {
  if (count == LANES) return load(from);
  T all[LANES] = {};
  for (int64_t i = 0; i < count; ++i) all[i] = from[i];
  return load(all);
}

template <class T>
INLINE void storeFirst(T* to, Vector x, int64_t count) {
  if (count == LANES) return store(to, x);
  T all[LANES];
  store(all, x);
  for (int64_t i = 0; i < count; ++i) to[i] = all[i];
}

// body(i, count) for each LANES of n elements, and for what is left.
template <class Body>
INLINE void eachVector(int64_t n, const Body& body) {
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES) body(i, LANES);
  if (i < n) body(i, n - i);
}

// The compiler computes x here, and does not put it off.
INLINE void stayInRegister(Vector& x) {
#if defined(__x86_64__)
  asm("" : "+v"(x));
#elif defined(__aarch64__)
  asm("" : "+w"(x));
#endif
}

// Subtracting 0 changes nothing, which compilers know; adding it changes −0.
INLINE Vector broadcast(float x) { return x - Vector{}; }

// sum + a × b. Where a processor rounds this once, so does every tile: compilers by themselves fuse the product here
// and not there, by the code around.
INLINE Vector plusProduct(Vector sum, Vector a, Vector b) {
#if LANES == 16
  return _mm512_fmadd_ps(a, b, sum);
#elif LANES == 8
  return _mm256_fmadd_ps(a, b, sum);
#else
  return sum + a * b;
#endif
}

INLINE Vector larger(Vector a, Vector b) { return a > b ? a : b; }

template <int... I>
INLINE Integers places(std::integer_sequence<int, I...>) {
  return Integers{I...};
}

// x with `other` in place of the elements before `begin` and from `end` on.
INLINE Vector filled(Vector x, int64_t begin, int64_t end, float other) {
  const auto within = [](int64_t place) { return int(std::clamp<int64_t>(place, 0, LANES)); };
  const Integers at = places(std::make_integer_sequence<int, LANES>());
  return (at >= within(begin)) & (at < within(end)) ? x : broadcast(other);
}

template <int WIDTH, class V, int... I>
INLINE V turned(V x, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(x, x, ((I + WIDTH) % int(sizeof...(I)))...);
}

// All elements joined in a fixed order, so that a sum is the same each time: the first half with the second.
template <int COUNT, class V, class Join>
INLINE auto folded(V x, const Join& join) {
  if constexpr (COUNT == 1)
    return x[0];
  else
    return folded<COUNT / 2>(join(x, turned<COUNT / 2>(x, std::make_integer_sequence<int, sizeof(x) / sizeof(x[0])>())),
                             join);
}

INLINE float sumOf(Vector x) {
  return folded<LANES>(x, [](Vector a, Vector b) INLINED { return a + b; });
}

INLINE double sumOf(Doubles x) {
  return folded<LANES / 2>(x, [](Doubles a, Doubles b) INLINED { return a + b; });
}

INLINE float maximumOf(Vector x) { return folded<LANES>(x, larger); }

template <int FROM, int... I>
INLINE HalfVector halfOf(Vector x, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(x, x, (FROM + I)...);
}

// Sums of many floats are kept in float64.
INLINE void addTo(Doubles& sum, Vector x) {
  using Half = std::make_integer_sequence<int, LANES / 2>;
  sum += __builtin_convertvector(halfOf<0>(x, Half()), Doubles) +
         __builtin_convertvector(halfOf<LANES / 2>(x, Half()), Doubles);
}

// e^x as 2^n × e^r: 2^n, r, and (e^r − 1 − r) / r².
struct Power {
  Vector scale, r, rest;
};

INLINE Power powerOf(Vector x) {
  // Adding 1.5 × 2^23 leaves the nearest whole number in the lowest bits.
  const float shift = 0x1.8p23f;
  const Vector shifted = x * 1.44269504f + shift;
  const Vector n = shifted - shift;
  // ln 2 in two parts, of which n × the first is exact.
  const Vector r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  Vector p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  return {bitsOf<Vector>((bitsOf<Bits>(shifted) << 23) + 0x3f800000), r, p};
}

// e^x to about one unit in the last place; 0 where it would be less than the smallest normal number, and infinity where
// it would be near the largest. NaN stays NaN.
INLINE Vector exponential(Vector x) {
  const auto [scale, r, rest] = powerOf(x);
  const Vector y = (rest * (r * r) + r + 1.f) * scale;
  return x < -87.3f ? Vector{} : x > 88.3f ? broadcast(__builtin_inff()) : y;
}

// tanh x to about two units in the last place, of small numbers also. NaN stays NaN.
INLINE Vector hyperbolicTangent(Vector x) {
  // Beyond 9.2 it is 1.
  const Vector near = x > 9.2f ? broadcast(9.2f) : x < -9.2f ? broadcast(-9.2f) : x;
  const auto [scale, r, rest] = powerOf(2.f * near);
  // e^2x − 1
  const Vector less = (rest * (r * r) + r) * scale + (scale - 1.f);
  return less / (less + 2.f);
}

// Elements FROM, FROM + 1, … of a and b in turn.
template <int FROM, int... I>
INLINE Vector zip(Vector a, Vector b, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, (FROM + I / 2 + I % 2 * LANES)...);
}

// LANES rows, the first numbers of which rowAt(i) points to, become columns: zipping the first half of the rows with
// the second, log2 LANES times, does it.
template <class RowAt>
INLINE void transposeRows(const RowAt& rowAt, float* to, int64_t ldTo) {
  using All = std::make_integer_sequence<int, LANES>;
  Vector x[LANES], y[LANES];
  UNROLL
  for (int i = 0; i < LANES; ++i) x[i] = load(rowAt(i));
  UNROLL
  for (int step = 1; step < LANES; step *= 2) {
    UNROLL
    for (int i = 0; i < LANES / 2; ++i) {
      y[2 * i] = zip<0>(x[i], x[i + LANES / 2], All());
      y[2 * i + 1] = zip<LANES / 2>(x[i], x[i + LANES / 2], All());
    }
    UNROLL
    for (int i = 0; i < LANES; ++i) x[i] = y[i];
  }
  UNROLL
  for (int i = 0; i < LANES; ++i) store(to + i * ldTo, x[i]);
}

INLINE void transpose(const float* from, int64_t ldFrom, float* to, int64_t ldTo) {
  transposeRows([=](int i) INLINED { return from + i * ldFrom; }, to, ldTo);
}

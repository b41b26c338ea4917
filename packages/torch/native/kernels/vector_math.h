// Small matrix products and exponentials by vectors of LANES floats. Without a guard: included once for each instruction
// set, in a namespace of its own, by a file that has included <cstdint>, <cstring> and <utility>.

typedef float Vector __attribute__((vector_size(LANES * 4)));
typedef int32_t Integers __attribute__((vector_size(LANES * 4)));
typedef uint32_t Bits __attribute__((vector_size(LANES * 4)));
typedef uint16_t Halves __attribute__((vector_size(LANES * 2)));

#define INLINE inline __attribute__((always_inline))

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
INLINE Vector load(const uint16_t* from) { return bitsOf<Vector>(__builtin_convertvector(read<Halves>(from), Bits) << 16); }
INLINE void store(float* to, Vector x) { std::memcpy(to, &x, sizeof x); }

// To the nearest bfloat16, of two to the even one; a NaN stays one.
INLINE void store(uint16_t* to, Vector x) {
  const Bits bits = bitsOf<Bits>(x);
  const Bits rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
  const Halves halves = __builtin_convertvector(x == x ? rounded : Bits{} + 0x7fc0, Halves);
  std::memcpy(to, &halves, sizeof halves);
}

INLINE Vector broadcast(float x) { return Vector{} + x; }
INLINE Vector larger(Vector a, Vector b) { return a > b ? a : b; }

// e^x for x up to about 0, within 2e-7 of it; exactly 0 where it is no normal number.
INLINE Vector exponential(Vector x) {
  // Adding 1.5 × 2^23 leaves the nearest whole number in the lowest bits.
  const float shift = 0x1.8p23f;
  const Vector shifted = x * 0x1.715476p0f + shift;
  const Vector n = shifted - shift;
  // ln 2 in two parts, of which n × the first is exact.
  const Vector r = (x - n * 0x1.63p-1f) - n * -0x1.bd0106p-13f;
  Vector p = broadcast(1.f / 5040);
  p = p * r + 1.f / 720;
  p = p * r + 1.f / 120;
  p = p * r + 1.f / 24;
  p = p * r + 1.f / 6;
  p = p * r + 1.f / 2;
  p = p * r + 1.f;
  p = p * r + 1.f;
  const Vector power = bitsOf<Vector>((bitsOf<Integers>(shifted) << 23) + 0x3f800000);
  return x < -87.3f ? Vector{} : p * power;
}

// c[rows × columns vectors] = or += a × b, over `depth`. An element (i, k) of a is at a[i × lda + k], or with TURNED at a[k × lda + i].
template <int ROWS, int COLUMNS, bool TURNED>
INLINE void multiplyBlock(int64_t depth, const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc, bool add) {
  Vector sums[ROWS][COLUMNS];
#pragma GCC unroll 16
  for (int i = 0; i < ROWS; ++i)
#pragma GCC unroll 16
    for (int j = 0; j < COLUMNS; ++j) sums[i][j] = add ? load(c + i * ldc + j * LANES) : Vector{};
  for (int64_t k = 0; k < depth; ++k) {
    Vector row[COLUMNS];
#pragma GCC unroll 16
    for (int j = 0; j < COLUMNS; ++j) row[j] = load(b + k * ldb + j * LANES);
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; ++i) {
      const Vector x = broadcast(TURNED ? a[k * lda + i] : a[i * lda + k]);
#pragma GCC unroll 16
      for (int j = 0; j < COLUMNS; ++j) sums[i][j] += x * row[j];
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < ROWS; ++i)
#pragma GCC unroll 16
    for (int j = 0; j < COLUMNS; ++j) store(c + i * ldc + j * LANES, sums[i][j]);
}

// Rows of c that are computed at a time: with three vectors each, and what they are made of, they fill the registers.
constexpr int BLOCK_ROWS = REGISTERS >= 32 ? 8 : 4;

template <int COLUMNS, bool TURNED>
INLINE void multiplyColumns(int64_t rows, int64_t depth, const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc, bool add) {
  for (int64_t i = 0; i < rows; i += BLOCK_ROWS)
    multiplyBlock<BLOCK_ROWS, COLUMNS, TURNED>(depth, a + (TURNED ? i : i * lda), lda, b, ldb, c + i * ldc, ldc, add);
}

// As above, for any number of rows, which is rounded up to whole blocks, and of vectors a row.
template <bool TURNED>
void multiply(int64_t rows, int64_t columns, int64_t depth, const float* a, int64_t lda, const float* b, int64_t ldb, float* c, int64_t ldc, bool add) {
  for (int64_t blocks = (columns + 2) / 3; blocks > 0; --blocks) {
    const int64_t wide = (columns + blocks - 1) / blocks;
    const auto go = wide == 3 ? multiplyColumns<3, TURNED> : wide == 2 ? multiplyColumns<2, TURNED> : multiplyColumns<1, TURNED>;
    go(rows, depth, a, lda, b, ldb, c, ldc, add);
    columns -= wide;
    b += wide * LANES;
    c += wide * LANES;
  }
}

// Elements FROM, FROM + 1, … of a and b in turn.
template <int FROM, int... I>
INLINE Vector zip(Vector a, Vector b, std::integer_sequence<int, I...>) {
#ifdef __clang__
  return __builtin_shufflevector(a, b, (FROM + I / 2 + I % 2 * LANES)...);
#else
  return __builtin_shuffle(a, b, Integers{(FROM + I / 2 + I % 2 * LANES)...});
#endif
}

// LANES rows become columns: zipping the first half of the rows with the second, log2 LANES times, does it.
INLINE void transpose(const float* from, int64_t ldFrom, float* to, int64_t ldTo) {
  using All = std::make_integer_sequence<int, LANES>;
  Vector x[LANES], y[LANES];
#pragma GCC unroll 16
  for (int i = 0; i < LANES; ++i) x[i] = load(from + i * ldFrom);
#pragma GCC unroll 16
  for (int step = 1; step < LANES; step *= 2) {
#pragma GCC unroll 16
    for (int i = 0; i < LANES / 2; ++i) {
      y[2 * i] = zip<0>(x[i], x[i + LANES / 2], All());
      y[2 * i + 1] = zip<LANES / 2>(x[i], x[i + LANES / 2], All());
    }
#pragma GCC unroll 16
    for (int i = 0; i < LANES; ++i) x[i] = y[i];
  }
#pragma GCC unroll 16
  for (int i = 0; i < LANES; ++i) store(to + i * ldTo, x[i]);
}

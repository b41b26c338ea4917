// A few rows by panels of sixteen outputs, included by each_level.h.

// Vectors of a panel's outputs.
constexpr int PIECES = PANEL / LANES;
// Rows whose sums stay in registers, beside a panel's weights and an input.
constexpr int BLOCK = std::min<int>(MOST_ROWS, (REGISTERS - PIECES - 1) / PIECES);
// Steps after which the next block of rows goes through the same weights: they stay in the nearest cache.
constexpr int64_t STEPS = 256;
// Lines of a panel that are fetched ahead: two pages, since panels are read once.
constexpr int64_t AHEAD = 128;

// Inputs `at` of a step for LANES outputs. Of a pair of bfloat16 the first is the lower half of four bytes.
INLINE Vector weightsOf(const float* step, int) { return load(step); }
INLINE Vector weightsOf(const c10::BFloat16* step, int at) {
  const Bits pairs = read<Bits>(step);
  return bitsOf<Vector>(at == 0 ? pairs << 16 : pairs & 0xffff0000);
}

// Adds the products of R rows with some steps of a panel to their sums [R, PANEL].
template <int R, class T>
INLINE void addProducts(const float* x, const T* weights, int64_t steps, float* to) {
  constexpr int WIDTH = sizeof(float) / sizeof(T);
  Vector sums[R][PIECES];
  UNROLL
  for (int r = 0; r < R; ++r) {
    UNROLL
    for (int p = 0; p < PIECES; ++p) sums[r][p] = load(to + r * PANEL + p * LANES);
  }
  for (int64_t i = 0; i < steps; ++i) {
    const T* step = weights + i * PANEL * WIDTH;
    __builtin_prefetch(step + AHEAD * PANEL * WIDTH);
    UNROLL
    for (int at = 0; at < WIDTH; ++at) {
      Vector weight[PIECES];
      UNROLL
      for (int p = 0; p < PIECES; ++p) weight[p] = weightsOf(step + p * LANES * WIDTH, at);
      UNROLL
      for (int r = 0; r < R; ++r) {
        UNROLL
        for (int p = 0; p < PIECES; ++p) sums[r][p] += weight[p] * x[(i * WIDTH + at) * MOST_ROWS + r];
      }
    }
  }
  UNROLL
  for (int r = 0; r < R; ++r) {
    UNROLL
    for (int p = 0; p < PIECES; ++p) store(to + r * PANEL + p * LANES, sums[r][p]);
  }
}

#ifdef MULTIPLIES_BFLOAT16
// The inputs are pairs as well.
template <int R>
INLINE void addProducts(const float* x, const c10::BFloat16* weights, int64_t steps, float* to) {
  __m512 sums[R];
  UNROLL
  for (int r = 0; r < R; ++r) sums[r] = _mm512_load_ps(to + r * PANEL);
  for (int64_t i = 0; i < steps; ++i) {
    const auto* step = weights + i * PANEL * 2;
    const auto weight = (__m512bh)_mm512_loadu_si512(step);
    __builtin_prefetch(step + AHEAD * PANEL * 2);
    UNROLL
    for (int r = 0; r < R; ++r)
      sums[r] = _mm512_dpbf16_ps(sums[r], weight, (__m512bh)_mm512_set1_ps(x[i * MOST_ROWS + r]));
  }
  UNROLL
  for (int r = 0; r < R; ++r) _mm512_store_ps(to + r * PANEL, sums[r]);
}
constexpr int INPUTS_AT_ONCE = 2;
#else
constexpr int INPUTS_AT_ONCE = 1;
#endif

template <class T>
void multiply(const Product& job, int64_t begin, int64_t end) {
  constexpr int64_t WIDTH = sizeof(float) / sizeof(T);
  constexpr int64_t X_STEP = MOST_ROWS * (WIDTH == 1 ? 1 : WIDTH / INPUTS_AT_ONCE);
  const auto* x = static_cast<const float*>(job.x);
  for (int64_t panel = begin; panel < end; ++panel) {
    const T* weights = static_cast<const T*>(job.panels) + panel * job.steps * PANEL * WIDTH;
    const int64_t first = panel * PANEL, count = std::min(PANEL, job.outputs - first);
    alignas(64) float sums[MOST_ROWS * PANEL] = {};
    if (job.bias)
      for (int64_t i = 0; i < MOST_ROWS * PANEL; ++i)
        if (i % PANEL < count) sums[i] = static_cast<const T*>(job.bias)[first + i % PANEL];
    for (int64_t from = 0; from < job.steps; from += STEPS) {
      const int64_t steps = std::min(STEPS, job.steps - from);
      const float* inputs = x + from * X_STEP;
      const T* block = weights + from * PANEL * WIDTH;
      int64_t row = 0;
      for (; row + BLOCK <= MOST_ROWS && row < job.rows; row += BLOCK)
        addProducts<BLOCK>(inputs + row, block, steps, sums + row * PANEL);
      if constexpr (MOST_ROWS % BLOCK > 0)
        if (row < job.rows) addProducts<MOST_ROWS % BLOCK>(inputs + row, block, steps, sums + row * PANEL);
    }
    T* out = static_cast<T*>(job.out) + first;
    for (int64_t r = 0; r < job.rows; ++r)
      eachVector(count, [&](int64_t i, int64_t some)
                            INLINED { storeFirst(out + r * job.outputs + i, load(sums + r * PANEL + i), some); });
  }
}

// Products with a weight in panels, included by each_level.h.

#include "panel_layout.h"

// Vectors of a panel's outputs.
constexpr int PIECES = PANEL / LANES;
// At most so many rows' sums stay in registers, beside the weights of a step and an input. With AVX2, twelve sums:
// eight would be as fast only where nothing else wants the core.
constexpr int TILE_ROWS = LANES == 16 ? 8 : LANES == 8 ? 6 : REGISTERS >= 32 ? 4 : 2;

// A vector of weights as one of a row's numbers multiplies it: of a pair that is widened, the first is the lower half.
template <class T>
INLINE Vector weightsFor(const float* weights, int number) {
  if constexpr (NUMBERS<T> == 1) return load(weights);
  const Bits pairs = read<Bits>(weights);
  return bitsOf<Vector>(number == 0 ? pairs << 16 : pairs & 0xffff0000);
}

template <class T>
INLINE Vector plusWeighted(Vector sum, Vector weights, float x) {
#ifdef MULTIPLIES_BFLOAT16
  if constexpr (sizeof(T) == 2) return _mm512_dpbf16_ps(sum, (__m512bh)weights, (__m512bh)_mm512_set1_ps(x));
#endif
  return plusProduct(sum, weights, broadcast(x));
}

// Numbers of R rows, `stride` apart as they lie; where a row is missing the last one's again.
template <class T, int R>
struct Inputs {
  const float* rows[R];

  Inputs(const float* first, int64_t stride, int64_t count) {
    UNROLL
    for (int r = 0; r < R; ++r) rows[r] = first + std::min<int64_t>(r, count - 1) * stride;
  }

  float at(int r, int64_t number) const { return rows[r][number]; }
};

// In bfloat16 they are arranged.
template <int R>
struct Inputs<c10::BFloat16, R> {
  const float* first;

  Inputs(const float* arranged, int64_t, int64_t) : first(arranged) {}

  float at(int r, int64_t number) const { return first[number * PANEL + r]; }
};

// Adds the products of R rows with a block of P panels to their sums. Each sum goes through the inputs in their order,
// whatever other rows and panels there are. Every four steps fetch FETCHING lines of each of P panels from `ahead` on:
// a core has more reads under way from several pages than from one.
template <class T, int R, int P, int FETCHING>
void addTile(Inputs<T, R> x, const float* weights, int64_t size, int64_t steps, bool begins, const float* ahead,
             float* to) {
  Vector sums[R][P * PIECES];
  UNROLL
  for (int r = 0; r < R; ++r) {
    UNROLL
    for (int p = 0; p < P * PIECES; ++p) sums[r][p] = begins ? Vector{} : load(to + r * SUMS + p * LANES);
  }
  const auto add = [&](int64_t i) INLINED {
    UNROLL
    for (int n = 0; n < NUMBERS<T>; ++n) {
      Vector some[P * PIECES];
      UNROLL
      for (int p = 0; p < P * PIECES; ++p)
        some[p] = weightsFor<T>(weights + p / PIECES * size + i * PANEL + p % PIECES * LANES, n);
      UNROLL
      for (int r = 0; r < R; ++r) {
        UNROLL
        for (int p = 0; p < P * PIECES; ++p) {
          sums[r][p] = plusWeighted<T>(sums[r][p], some[p], x.at(r, i * NUMBERS<T> + n));
          // All are needed before the other half of the weights: there is no register to spare.
          if constexpr (NUMBERS<T> == 2) stayInRegister(sums[r][p]);
        }
      }
    }
  };
  // A tile alone fetches from the two halves of each panel in turn.
  int64_t hop = FETCHING == 4 ? size / 2 : PANEL;
  const auto fetch = [&]() INLINED {
    UNROLL
    for (int p = 0; p < P; ++p) __builtin_prefetch(ahead + p * size, 0, 2);
    ahead += hop;
    if constexpr (FETCHING == 4) hop = PANEL - hop;
  };
  int64_t i = 0;
  // Four at once, as in FOUR_AT_ONCE, with at most so many fetches.
  for (; i + 4 <= steps; i += 4) {
    if constexpr (FETCHING > 0) fetch();
    add(i);
    if constexpr (FETCHING == 4) fetch();
    add(i + 1);
    if constexpr (FETCHING > 1) fetch();
    add(i + 2);
    if constexpr (FETCHING == 4) fetch();
    add(i + 3);
  }
  for (; i < steps; ++i) add(i);
  UNROLL
  for (int r = 0; r < R; ++r) {
    UNROLL
    for (int p = 0; p < P * PIECES; ++p) store(to + r * SUMS + p * LANES, sums[r][p]);
  }
}

// A block of P panels with all rows. Meanwhile the next panels come nearer, some quarters with each of the first tiles:
// what is fetched at once is waited for.
template <class T, int P>
void addPanels(const Product& job, int64_t panel, int64_t from, float* sums) {
  const int64_t steps = job.panels.blockSteps(from), size = steps * PANEL, numbers = job.panels.steps * NUMBERS<T>;
  const float* weights = job.panels.at(panel, from);
  const int64_t tiles = (job.rows + TILE_ROWS - 1) / TILE_ROWS;
  const float* ahead = weights + P * size;
  int64_t tile = 0, row = 0, quarters = 4;
  const auto add = [&](auto rows) {
    const auto* x = static_cast<const float*>(job.x);
    x += sizeof(T) == 2 ? row / PANEL * PANEL * numbers + from * NUMBERS<T> * PANEL + row % PANEL
                        : row * job.xStride + from;
    const int64_t left = std::max<int64_t>(1, tiles - tile), fetching = (quarters + left - 1) / left;
    const auto go = fetching == 0   ? addTile<T, rows, P, 0>
                    : fetching == 1 ? addTile<T, rows, P, 1>
                    : fetching == 2 ? addTile<T, rows, P, 2>
                                    : addTile<T, rows, P, 4>;
    go(Inputs<T, rows>(x, job.xStride, job.rows - row), weights, size, steps, from == 0, ahead, sums + row * SUMS);
    ahead += size * fetching / 4;
    quarters -= fetching;
    row += rows;
    ++tile;
  };
  while (row < job.rows) {
    const int64_t left = std::min(PANEL - row % PANEL, job.rows - row);
    // The least tile that has them all. Eight rows are two tiles of four where six are the most.
    const int64_t rows =
        TILE_ROWS == 6 && (left == 7 || left == 8) ? 4 : std::min<int64_t>(TILE_ROWS, roundUp(left, 2));
    if (rows == 2) add(std::integral_constant<int, 2>());
    if constexpr (TILE_ROWS >= 4)
      if (rows == 4) add(std::integral_constant<int, 4>());
    if constexpr (TILE_ROWS >= 6)
      if (rows == 6) add(std::integral_constant<int, 6>());
    if constexpr (TILE_ROWS >= 8)
      if (rows == 8) add(std::integral_constant<int, 8>());
  }
}

// Rows from `row` on of the results of panels first … last, from their sums [rows, stride].
template <class T>
INLINE void finish(const Product& job, const float* sums, int64_t stride, int64_t row, int64_t rows, int64_t first,
                   int64_t last) {
  const int64_t from = first * PANEL, count = std::min(last * PANEL, job.outputs) - from;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t at = (row + r) * job.stride + from;
    eachVector(count, [&](int64_t i, int64_t some) INLINED {
      Vector sum = load(sums + r * stride + i);
      if (job.adds) {
        float* out = static_cast<float*>(job.out) + at + i;
        return storeFirst(out, sum + loadFirst(out, some), some);
      }
      if (job.bias) sum += loadFirst(static_cast<const T*>(job.bias) + from + i, some);
      storeFirst(static_cast<T*>(job.out) + at + i, sum, some);
    });
  }
}

#ifdef MULTIPLIES_TILES
// Registers of sixteen rows of 64 bytes: sums 0 to 3, inputs 4, weights 5. With more for the weights it is slower.
struct alignas(64) TileShapes {
  uint8_t palette = 1, start = 0, reserved[14] = {};
  uint16_t bytes[16] = {64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16};
};

// Not a local variable: GCC assumes that the instruction reads eight bytes, and may never store the others.
constexpr TileShapes SHAPES;

// Steps of each panel that are fetched ahead.
constexpr int64_t STEPS_AHEAD = 4 * PANEL;

// Where the numbers lie that P panels read STEPS_AHEAD steps after `step`; behind their end the next panels begin.
struct Ahead {
  const float* first;
  int64_t size;
};

template <int P>
INLINE Ahead aheadOf(const Panels& panels, int64_t panel, int64_t step) {
  step += STEPS_AHEAD;
  if (step >= panels.steps) {
    panel += P;
    step -= panels.steps;
  }
  return {panels.at(panel, step), panels.blockSteps(step) * PANEL};
}

// A quarter of a tile of each of P panels, a line of each in turn.
template <int P>
INLINE void fetchQuarter(const Ahead& ahead, int quarter) {
  UNROLL
  for (int line = 4 * quarter; line < 4 * quarter + 4; ++line) {
    UNROLL
    for (int p = 0; p < P; ++p) __builtin_prefetch(ahead.first + p * ahead.size + line * PANEL);
  }
}

// Sixteen rows with P panels: their sums, [16, P × 16].
template <int P>
void multiplyTile(const Product& job, int64_t panel, int64_t row, bool fetches, float* sums) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  const int64_t steps = job.panels.steps;
  const auto* x = static_cast<const float*>(job.x) + row * steps;
  for (int64_t from = 0; from < steps; from += STEPS) {
    const int64_t some = job.panels.blockSteps(from), size = some * PANEL;
    const float* weights = job.panels.at(panel, from);
    for (int64_t i = 0; i < some; i += PANEL, x += PANEL * PANEL, weights += PANEL * PANEL) {
      const Ahead ahead = aheadOf<P>(job.panels, panel, from + i);
      // Between the tiles: what is fetched at once is waited for.
      const auto fetch = [&](int quarter) INLINED {
        if (fetches) fetchQuarter<P>(ahead, quarter);
      };
      _tile_loadd(4, x, 64);
      _tile_loadd(5, weights, 64);
      fetch(0);
      _tile_dpbf16ps(0, 4, 5);
      if constexpr (P > 1) _tile_loadd(5, weights + size, 64);
      fetch(1);
      if constexpr (P > 1) _tile_dpbf16ps(1, 4, 5);
      if constexpr (P > 2) _tile_loadd(5, weights + 2 * size, 64);
      fetch(2);
      if constexpr (P > 2) _tile_dpbf16ps(2, 4, 5);
      if constexpr (P > 3) _tile_loadd(5, weights + 3 * size, 64);
      fetch(3);
      if constexpr (P > 3) _tile_dpbf16ps(3, 4, 5);
    }
  }
  _tile_stored(0, sums, P * 64);
  if constexpr (P > 1) _tile_stored(1, sums + PANEL, P * 64);
  if constexpr (P > 2) _tile_stored(2, sums + 2 * PANEL, P * 64);
  if constexpr (P > 3) _tile_stored(3, sums + 3 * PANEL, P * 64);
}

void multiplyTiles(const Product& job, int64_t begin, int64_t end) {
  _tile_loadconfig(&SHAPES);
  const Scratch sums(4 * PANEL * PANEL);
  // Four panels are read from as many pages at once, and sixteen rows with them are as fast as 32 with two.
  const decltype(&multiplyTile<1>) go[] = {multiplyTile<1>, multiplyTile<2>, multiplyTile<3>, multiplyTile<4>};
  for (int64_t panel = begin; panel < end;) {
    const int64_t last = std::min({end, panel / GROUP * GROUP + GROUP, panel + 4}), panels = last - panel;
    for (int64_t row = 0; row < job.rows; row += PANEL) {
      go[panels - 1](job, panel, row, row == 0, sums.data);
      finish<c10::BFloat16>(job, sums.data, panels * PANEL, row, std::min(PANEL, job.rows - row), panel, last);
    }
    panel = last;
  }
  _tile_release();
}
#endif

// Panels begin … end of the results of at most MOST_ROWS rows.
template <class T>
void multiply(const Product& job, int64_t begin, int64_t end) {
#ifdef MULTIPLIES_TILES
  if constexpr (sizeof(T) == 2) return multiplyTiles(job, begin, end);
#endif
  // Few rows wait for the weights; more wait for the arithmetic, and wide tiles read the inputs fewer times.
  const int64_t atOnce = LANES < 16 ? 1 : job.rows <= PANEL ? 2 : 3;
  const Scratch sums((job.rows + PANEL) * SUMS);
  for (int64_t panel = begin; panel < end;) {
    const int64_t last = std::min(end, panel / GROUP * GROUP + GROUP);
    for (int64_t from = 0; from < job.panels.steps; from += STEPS)
      for (int64_t p = panel, panels; p < last; p += panels) {
        // Four are two and two: a panel by itself has too few sums under way.
        const int64_t left = last - p, tiles = (left + atOnce - 1) / atOnce;
        panels = (left + tiles - 1) / tiles;
        auto go = addPanels<T, 1>;
        if constexpr (LANES == 16) go = panels == 1 ? go : panels == 2 ? addPanels<T, 2> : addPanels<T, 3>;
        go(job, p, from, sums.data + (p - panel) * PANEL);
      }
    finish<T>(job, sums.data, SUMS, 0, job.rows, panel, last);
    panel = last;
  }
}

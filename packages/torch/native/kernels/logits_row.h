// Logits of a row: what they sum to, and the token at a place of that sum. Part of the kernels of draw_tokens.cc.

// log softmax of a row is (x − largest) − logSum, rounded after each step as libtorch's is.
struct Normalizer {
  float largest, logSum;
  // Σ e^(x − largest)
  double sum;
};

struct RowOf {
  const float* logits;
  float temperature;

  // −∞ beyond the last token.
  INLINE Vector at(int64_t i, int64_t count) const {
    Vector x = loadFirst(logits + i, count);
    if (temperature != 1) x = x / temperature;
    return filled(x, 0, count, LEAST);
  }
  INLINE float at(int64_t i) const { return temperature != 1 ? logits[i] / temperature : logits[i]; }
};

// What a thread needs for one row after the other.
struct Scratch {
  // Sums of a row's blocks, and of what truncation leaves of them; then also the largest number of each block's
  // columns.
  std::vector<double> sums, blocks;
  std::vector<float> maxima;
  // Numbers near a bound, of this turn of the search and of the one before.
  std::vector<float> near, before;
  // Which tokens are kept, a bit each.
  std::vector<uint64_t> kept;
  Changed changed;
};

INLINE int64_t blocksOf(int64_t vocab) { return (vocab + BLOCK - 1) / BLOCK; }

// One bit for each element of a comparison.
INLINE uint32_t maskOf(Integers is) {
#if defined(__x86_64__) && LANES == 16
  return _mm512_movepi32_mask(bitsOf<__m512i>(is));
#elif defined(__x86_64__) && LANES == 8
  return uint32_t(_mm256_movemask_ps(bitsOf<__m256>(is)));
#elif defined(__x86_64__)
  return uint32_t(_mm_movemask_ps(bitsOf<__m128>(is)));
#else
  uint32_t mask = 0;
  for (int64_t i = 0; i < LANES; ++i) mask |= uint32_t(is[i] != 0) << i;
  return mask;
#endif
}

// Writes the elements of the mask side by side, and others behind them; returns how many.
INLINE int64_t compress(float* to, Vector x, uint32_t mask) {
#if defined(__x86_64__) && LANES == 16
  _mm512_storeu_ps(to, _mm512_maskz_compress_ps(__mmask16(mask), bitsOf<__m512>(x)));
  return __builtin_popcount(mask);
#else
  float all[LANES];
  store(all, x);
  int64_t n = 0;
  for (; mask; mask &= mask - 1) to[n++] = all[__builtin_ctz(mask)];
  return n;
#endif
}

// The largest numbers of a block's columns; marks columns that hold NaN.
INLINE Vector largestOf(const RowOf& row, int64_t start, int64_t vocab, Integers& bad) {
  Vector most = broadcast(LEAST);
  eachVector(std::min(BLOCK, vocab - start), [&](int64_t i, int64_t count) INLINED {
    const Vector x = row.at(start + i, count);
    bad |= (Integers)(x != x);
    most = larger(x, most);
  });
  return most;
}

// Σ e^(x − largest) of a block
INLINE double massOf(const RowOf& row, int64_t start, int64_t vocab, float largest) {
  Doubles sum{};
  eachVector(std::min(BLOCK, vocab - start),
             [&](int64_t i, int64_t count) INLINED { addTo(sum, exponential(row.at(start + i, count) - largest)); });
  return sumOf(sum);
}

INLINE Normalizer normalizerOf(float largest, const std::vector<double>& sums) {
  double sum = 0;
  for (const double mass : sums) sum += mass;
  return {largest, float(std::log(sum)), sum};
}

// logSum is NaN where the row has no distribution: a logit is NaN or +∞, or none is above −∞. The sum of each block is
// written to `sums`, and with `maxima` its largest numbers there.
INLINE Normalizer normalize(const RowOf& row, int64_t vocab, float* maxima, std::vector<double>& sums) {
  Vector most = broadcast(LEAST);
  Integers bad{};
  for (int64_t start = 0; start < vocab; start += BLOCK) {
    const Vector own = largestOf(row, start, vocab, bad);
    if (maxima) store(maxima + start / BLOCK * LANES, own);
    most = larger(own, most);
  }
  int32_t nan = 0;
  for (int64_t i = 0; i < LANES; ++i) nan |= bad[i];
  const float largest = maximumOf(most);
  if (nan || std::isinf(largest)) return {largest, std::numeric_limits<float>::quiet_NaN(), 0};
  for (int64_t start = 0; start < vocab; start += BLOCK) sums[start / BLOCK] = massOf(row, start, vocab, largest);
  return normalizerOf(largest, sums);
}

// The same of a row that differs from a known one at `ids` only: while the largest number stays what it is, only the
// blocks of these are computed, to the same bits.
INLINE Normalizer normalizeChanged(const RowOf& row, const RowOf& known, const Normalizer& by,
                                   const std::vector<int64_t>& ids, int64_t vocab, float* maxima,
                                   std::vector<double>& sums) {
  bool holds = !std::isnan(by.logSum);
  for (const int64_t id : ids) holds = holds && known.at(id) < by.largest && row.at(id) < by.largest;
  if (!holds) return normalize(row, vocab, maxima, sums);
  int64_t last = -1;
  for (const int64_t id : ids) {
    const int64_t block = id / BLOCK;
    if (block == last) continue;
    last = block;
    Integers bad{};
    if (maxima) store(maxima + block * LANES, largestOf(row, block * BLOCK, vocab, bad));
    sums[block] = massOf(row, block * BLOCK, vocab, by.largest);
  }
  return normalizerOf(by.largest, sums);
}

// Adds the exponentials of n numbers, behind which there is room for a vector.
INLINE void addMass(Doubles& sum, float* numbers, int64_t n, float largest) {
  store(numbers + n, broadcast(LEAST));
  for (int64_t i = 0; i < n; i += LANES) addTo(sum, exponential(load(numbers + i) - largest));
}

struct Drawn {
  int64_t token;
  // Of all weights.
  double total;
};

// The first token at which the sum of weights e^(x − largest), of the numbers from the bound on, is above u × their
// total; blocks has the sum of each block.
INLINE Drawn invert(const RowOf& row, float bound, float largest, int64_t vocab, double u,
                    const std::vector<double>& blocks) {
  double total = 0;
  for (const double sum : blocks) total += sum;
  const double wanted = u * total;
  double before = 0;
  int64_t block = 0;
  for (const int64_t last = (vocab - 1) / BLOCK; block < last && before + blocks[block] <= wanted; ++block)
    before += blocks[block];
  // Sums in another order may leave the wanted one at the very end: then it is the last token that can be.
  int64_t token = block * BLOCK;
  for (int64_t i = block * BLOCK; i < std::min(vocab, (block + 1) * BLOCK); i += LANES) {
    float p[LANES];
    const int64_t count = std::min<int64_t>(LANES, vocab - i);
    const Vector x = row.at(i, count);
    store(p, x >= bound ? exponential(x - largest) : Vector{});
    for (int64_t j = 0; j < count; ++j) {
      if (p[j] > 0) token = i + j;
      before += p[j];
      if (before > wanted) return {token, total};
    }
  }
  return {token, total};
}

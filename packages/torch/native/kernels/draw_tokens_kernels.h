// Drawing a token from a row of logits, included by each_level.h.

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

// Weights by which bounds are found: of top-k each token's is 1, of top-p its probability times a constant.
struct Weight {
  bool counts;
  float largest;

  INLINE double of(float x) const { return counts ? 1 : double(exponential(broadcast(x - largest))[0]); }
};

// What is known of a row's blocks; null where nothing is.
struct Blocks {
  // The largest numbers of each, a vector for each, and what each weighs.
  const float* maxima;
  const double* sums;

  // Whether a number from `low` on may be in the block.
  INLINE bool reach(int64_t start, float low) const {
    return !maxima || maskOf((Integers)(load(maxima + start / BLOCK * LANES) >= low));
  }
};

// What the numbers above and from low to high weigh; these are written to `near`.
struct Split {
  double above, within;
  int64_t count;
};

// Exponentials are computed of the numbers between, and of those above or those below: `mostAbove` says that these are
// fewer, and what lies above is then what is left of the blocks' sums.
INLINE Split split(const RowOf& row, int64_t n, const Weight& weight, float low, float high, const Blocks& blocks,
                   bool mostAbove, std::vector<float>& near) {
  if (int64_t(near.size()) < n + 2 * LANES) near.resize(n + 2 * LANES);
  float some[BLOCK + 2 * LANES];
  int64_t count = 0, larger = 0;
  double all = 0;
  Doubles outer{}, within{};
  const bool leaves = mostAbove && blocks.sums;
  for (int64_t start = 0; start < n; start += BLOCK) {
    if (!blocks.reach(start, low)) continue;
    const int64_t before = count;
    int64_t others = 0;
    eachVector(std::min(BLOCK, n - start), [&](int64_t i, int64_t size) INLINED {
      const Vector x = row.at(start + i, size);
      const Integers isAbove = (Integers)(x > high), isWithin = (Integers)(x >= low) & ~isAbove;
      if (const uint32_t mask = maskOf(isWithin)) count += compress(near.data() + count, x, mask);
      if (weight.counts) {
        larger += __builtin_popcount(maskOf(isAbove));
      } else if (const uint32_t mask = maskOf(leaves ? (Integers)(x < low) : isAbove)) {
        others += compress(some + others, x, mask);
      }
    });
    if (weight.counts) continue;
    if (leaves) all += blocks.sums[start / BLOCK];
    addMass(outer, some, others, weight.largest);
    addMass(within, near.data() + before, count - before, weight.largest);
  }
  if (weight.counts) return {double(larger), double(count), count};
  const double between = sumOf(within), rest = sumOf(outer);
  return {leaves ? all - rest - between : rest, between, count};
}

// The least number of a row above which less than `most` of its weight lies; all of it weighs `total`. A sample tells
// between which numbers it should be, a pass through the row whether it is; what lies between is searched again.
INLINE float boundOf(RowOf row, int64_t n, const Weight& weight, double total, double most, Blocks blocks,
                     Scratch& scratch) {
  double above = 0;
  float sample[SAMPLE];
  while (n > SAMPLE) {
    for (int64_t i = 0; i < SAMPLE; ++i) sample[i] = row.at(i * n / SAMPLE);
    std::sort(sample, sample + SAMPLE);
    // How many of the sample are to be left out: those that weigh as much, each with its share of the row.
    const double out = (total - (most - above)) * SAMPLE / n;
    int64_t first = 0;
    for (double sum = 0; first < SAMPLE && (sum += weight.of(sample[first])) < out;) ++first;
    const auto slack = int64_t(4 + 2 * std::sqrt(double(first * (SAMPLE - first)) / SAMPLE));
    // Of a token that cannot be drawn the number is −∞.
    float low = std::max(first < slack ? -FLT_MAX : sample[std::min(first, SAMPLE) - slack], -FLT_MAX),
          high = std::max(first + slack < SAMPLE ? sample[first + slack] : FLT_MAX, low);
    // The numbers that weigh less than this cannot weigh as much as is to be left out.
    if (!weight.counts && out > 0) {
      const auto least = float(weight.largest + std::log(out / SAMPLE)) - 1e-3f;
      low = std::max(low, std::min(least, high));
    }
    const bool mostAbove = 2 * first < SAMPLE;
    Split found = split(row, n, weight, low, high, blocks, mostAbove, scratch.near);
    if (above + found.above >= most) {
      low = std::nextafter(high, FLT_MAX);
      high = FLT_MAX;
      found = split(row, n, weight, low, high, blocks, mostAbove, scratch.near);
    } else if (above + found.above + found.within < most) {
      high = std::nextafter(low, -FLT_MAX);
      low = -FLT_MAX;
      found = split(row, n, weight, low, high, blocks, mostAbove, scratch.near);
    }
    above += found.above;
    if (low == high) return low;
    const bool shrinks = found.count < n;
    std::swap(scratch.near, scratch.before);
    row = {scratch.before.data(), 1};
    n = found.count;
    total = found.within;
    blocks = {};
    if (!shrinks) break;
  }
  // Falling, as they are taken in.
  if (int64_t(scratch.near.size()) < n) scratch.near.resize(n);
  float* falling = scratch.near.data();
  for (int64_t i = 0; i < n; ++i) falling[i] = row.at(i);
  std::sort(falling, falling + n, [](float a, float b) { return a > b; });
  float bound = -FLT_MAX;
  for (int64_t i = 0; i < n && above < most; ++i) {
    bound = std::max(falling[i], -FLT_MAX);
    above += weight.of(falling[i]);
  }
  return bound;
}

// What all numbers from the bound on weigh.
INLINE double massFrom(const RowOf& row, int64_t vocab, float bound, float largest, const Blocks& blocks) {
  Doubles sum{};
  for (int64_t start = 0; start < vocab; start += BLOCK) {
    if (!blocks.reach(start, bound)) continue;
    eachVector(std::min(BLOCK, vocab - start), [&](int64_t i, int64_t count) INLINED {
      const Vector x = row.at(start + i, count);
      addTo(sum, x >= bound ? exponential(x - largest) : Vector{});
    });
  }
  return sumOf(sum);
}

// The least number that is kept: by top-k, by top-p of what that leaves, and by min-p.
INLINE float leastKept(const RowOf& row, int64_t vocab, const Normalizer& by, const Rules& rules, Scratch& scratch) {
  const Blocks blocks{scratch.maxima.data(), scratch.sums.data()};
  float bound = -FLT_MAX;
  double mass = by.sum;
  if (rules.topK > 0 && rules.topK < double(vocab)) {
    bound = boundOf(row, vocab, {true, by.largest}, double(vocab), rules.topK, blocks, scratch);
    if (rules.topP < 1) mass = massFrom(row, vocab, bound, by.largest, blocks);
  }
  if (rules.topP < 1) {
    const Weight weight{false, by.largest};
    bound = std::max(bound, boundOf(row, vocab, weight, by.sum, rules.topP * mass, blocks, scratch));
  }
  if (rules.minP > 0) bound = std::max(bound, by.largest + float(std::log(rules.minP)));
  return bound;
}

// Draws from the numbers from the bound on, and marks them.
INLINE Drawn drawKept(const RowOf& row, float bound, float largest, int64_t vocab, double u, Scratch& scratch) {
  float some[BLOCK + 2 * LANES];
  for (int64_t start = 0; start < vocab; start += BLOCK) {
    const int64_t block = start / BLOCK, size = std::min(BLOCK, vocab - start);
    uint64_t* bits = scratch.kept.data() + start / 64;
    std::fill(bits, bits + BLOCK / 64, 0);
    scratch.blocks[block] = 0;
    if (!Blocks{scratch.maxima.data(), nullptr}.reach(start, bound)) continue;
    eachVector(size, [&](int64_t i, int64_t count) INLINED {
      bits[i / 64] |= uint64_t(maskOf((Integers)(row.at(start + i, count) >= bound))) << (i % 64);
    });
    int64_t kept = 0, others = 0;
    for (int64_t w = 0; w < BLOCK / 64; ++w) kept += __builtin_popcountll(bits[w]);
    // Of these or of the others, whichever are fewer.
    const bool leaves = 2 * kept > size;
    const uint64_t flip = leaves ? ~uint64_t(0) : 0;
    eachVector(size, [&](int64_t i, int64_t count) INLINED {
      const auto valid = uint32_t((uint64_t(1) << count) - 1);
      if (const uint32_t mask = uint32_t((bits[i / 64] ^ flip) >> (i % 64)) & valid)
        others += compress(some + others, row.at(start + i, count), mask);
    });
    Doubles sum{};
    addMass(sum, some, others, largest);
    scratch.blocks[block] = leaves ? std::max(0.0, scratch.sums[block] - sumOf(sum)) : sumOf(sum);
  }
  return invert(row, bound, largest, vocab, u, scratch.blocks);
}

INLINE int64_t likeliest(const RowOf& row, float largest, int64_t vocab) {
  for (int64_t i = 0; i < vocab; i += LANES) {
    const int64_t count = std::min<int64_t>(LANES, vocab - i);
    const Vector x = row.at(i, count);
    for (int64_t j = 0; j < count; ++j)
      if (x[j] == largest) return i + j;
  }
  return 0;
}

INLINE void drawRow(const Draws& job, int64_t r, Scratch& scratch) {
  const Rules& rules = job.rules[r];
  const bool greedy = rules.temperature == 0;
  const int64_t vocab = job.vocab;
  const RowOf plain{job.logits + r * job.stride, greedy ? 1 : float(rules.temperature)};
  float* maxima = nullptr;
  if (rules.truncates()) {
    scratch.maxima.resize(blocksOf(vocab) * LANES);
    scratch.kept.resize(blocksOf(vocab) * (BLOCK / 64));
    maxima = scratch.maxima.data();
  }
  const Normalizer ofPlain = normalize(plain, vocab, maxima, scratch.sums);
  RowOf allowed = plain;
  Normalizer ofAllowed = ofPlain;
  if (change(job, r, scratch.changed)) {
    allowed.logits = scratch.changed.logits.data();
    ofAllowed = normalizeChanged(allowed, plain, ofPlain, scratch.changed.ids, vocab, maxima, scratch.sums);
  }
  const auto logProb = [&](const RowOf& row, const Normalizer& by, int64_t token) {
    return (row.at(token) - by.largest) - by.logSum;
  };
  int64_t token = 0;
  float sampled;
  if (std::isnan(ofAllowed.logSum)) {
    sampled = ofAllowed.logSum;
  } else if (greedy) {
    token = likeliest(allowed, ofAllowed.largest, vocab);
    sampled = 0;
  } else if (rules.truncates()) {
    const float bound = leastKept(allowed, vocab, ofAllowed, rules, scratch);
    const Drawn drawn = drawKept(allowed, bound, ofAllowed.largest, vocab, job.uniforms[r], scratch);
    token = drawn.token;
    sampled = float((allowed.at(token) - ofAllowed.largest) - std::log(drawn.total));
    if (job.support) encodeSet(scratch.kept, job.support[r]);
  } else {
    token = invert(allowed, -FLT_MAX, ofAllowed.largest, vocab, job.uniforms[r], scratch.sums).token;
    sampled = logProb(allowed, ofAllowed, token);
  }
  job.tokens[r] = token;
  job.logprobs[r] = logProb(plain, ofPlain, token);
  job.sampledLogprobs[r] = sampled;
}

void drawRows(const Draws& job, int64_t begin, int64_t end) {
  Scratch scratch;
  scratch.sums.resize(blocksOf(job.vocab));
  scratch.blocks.resize(blocksOf(job.vocab));
  for (int64_t r = begin; r < end; ++r) drawRow(job, r, scratch);
}

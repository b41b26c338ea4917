// The tokens that top-k, top-p and min-p leave of a row. Part of the kernels of draw_tokens.cc.

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

// Drawing a token from a row of logits, included by each_level.h.

// log softmax of a row is (x − largest) − logSum, rounded after each step as libtorch's is.
struct Normalizer {
  float largest, logSum;
};

struct RowOf {
  const float* logits;
  const float* forbidden;
  float temperature;

  // −∞ beyond the last token.
  INLINE Vector at(int64_t i, int64_t count) const {
    Vector x = loadFirst(logits + i, count);
    if (temperature != 1) x = x / temperature;
    if (forbidden) x += loadFirst(forbidden + i, count);
    return filled(x, count, LEAST);
  }
};

// NaN where the row has no distribution: a logit is NaN or +∞, or none is above −∞.
INLINE Normalizer normalizerOf(const RowOf& row, int64_t vocab) {
  Vector most = broadcast(LEAST);
  Integers bad{};
  eachVector(vocab, [&](int64_t i, int64_t count) INLINED {
    const Vector x = row.at(i, count);
    bad |= (Integers)(x != x);
    most = larger(x, most);
  });
  int32_t nan = 0;
  for (int64_t i = 0; i < LANES; ++i) nan |= bad[i];
  const float largest = maximumOf(most);
  if (nan || std::isinf(largest)) return {largest, std::numeric_limits<float>::quiet_NaN()};
  Doubles sum{};
  eachVector(vocab, [&](int64_t i, int64_t count) INLINED { addTo(sum, exponential(row.at(i, count) - largest)); });
  return {largest, float(std::log(sumOf(sum)))};
}

INLINE Vector probabilities(const RowOf& row, const Normalizer& by, int64_t i, int64_t count) {
  return exponential((row.at(i, count) - by.largest) - by.logSum);
}

struct Drawn {
  int64_t token;
  // Of all probabilities, which are rounded.
  double total;
};

// The first token at which the sum of probabilities is above u × their total.
INLINE Drawn invert(const RowOf& row, const Normalizer& by, int64_t vocab, double u, double* blocks) {
  double total = 0;
  for (int64_t start = 0; start < vocab; start += BLOCK) {
    Doubles sum{};
    const int64_t size = std::min(BLOCK, vocab - start);
    eachVector(size, [&](int64_t i, int64_t count) INLINED { addTo(sum, probabilities(row, by, start + i, count)); });
    total += blocks[start / BLOCK] = sumOf(sum);
  }
  const double wanted = u * total;
  double before = 0;
  int64_t block = 0;
  for (const int64_t last = (vocab - 1) / BLOCK; block < last && before + blocks[block] <= wanted; ++block)
    before += blocks[block];
  // Sums in another order may leave the wanted one at the very end: then it is the last token that can be.
  int64_t token = block * BLOCK;
  for (int64_t i = block * BLOCK; i < std::min(vocab, (block + 1) * BLOCK); i += LANES) {
    float p[LANES];
    store(p, probabilities(row, by, i, std::min<int64_t>(LANES, vocab - i)));
    for (int64_t j = 0; j < std::min<int64_t>(LANES, vocab - i); ++j) {
      if (p[j] > 0) token = i + j;
      before += p[j];
      if (before > wanted) return {token, total};
    }
  }
  return {token, total};
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

void drawRows(const Draws& job, int64_t begin, int64_t end) {
  std::vector<double> blocks((job.vocab + BLOCK - 1) / BLOCK);
  const bool greedy = job.temperature == 0;
  for (int64_t r = begin; r < end; ++r) {
    const RowOf plain{job.logits + r * job.stride, nullptr, greedy ? 1 : job.temperature};
    const RowOf allowed{plain.logits, job.forbidden, plain.temperature};
    const Normalizer ofPlain = normalizerOf(plain, job.vocab);
    const Normalizer ofAllowed = job.forbidden ? normalizerOf(allowed, job.vocab) : ofPlain;
    const auto logProb = [&](const Normalizer& by, int64_t token) {
      const float x = greedy ? plain.logits[token] : plain.logits[token] / job.temperature;
      return (x - by.largest) - by.logSum;
    };
    int64_t token = 0;
    float sampled;
    if (std::isnan(ofAllowed.logSum)) {
      sampled = ofAllowed.logSum;
    } else if (greedy) {
      token = likeliest(allowed, ofAllowed.largest, job.vocab);
      sampled = 0;
    } else {
      const Drawn drawn = invert(allowed, ofAllowed, job.vocab, job.uniforms[r], blocks.data());
      token = drawn.token;
      sampled = job.forbidden ? float(logProb(ofAllowed, token) - std::log(drawn.total)) : logProb(ofPlain, token);
    }
    job.tokens[r] = token;
    job.logprobs[r] = logProb(ofPlain, token);
    job.sampledLogprobs[r] = sampled;
  }
}

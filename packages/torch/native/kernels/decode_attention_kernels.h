// One new token a row, included by each_level.h.

// A head's numbers as floats, normed and turned, zeros behind.
template <class T>
INLINE void readHead(const Attention& job, const T* from, const void* norm, int64_t row, float* to) {
  const int64_t width = job.width, half = job.turned / 2;
  std::fill(to + width, to + job.padded, 0.f);
  Vector squares{};
  eachVector(width, [&](int64_t i, int64_t count) INLINED {
    const Vector x = loadFirst(from + i, count);
    squares += x * x;
    store(to + i, x);
  });
  if (norm) {
    const float scale = 1 / std::sqrt(sumOf(squares) / width + job.eps);
    const auto multiply = [&](auto* factors) INLINED {
      eachVector(width, [&](int64_t i, int64_t count)
                            INLINED { store(to + i, load(to + i) * scale * loadFirst(factors + i, count)); });
    };
    job.wideNorms ? multiply(static_cast<const float*>(norm)) : multiply(static_cast<const T*>(norm));
  }
  if (!job.cos) return;
  const T *cos = static_cast<const T*>(job.cos) + row * half, *sin = static_cast<const T*>(job.sin) + row * half;
  eachVector(half, [&](int64_t i, int64_t count) INLINED {
    const Vector c = loadFirst(cos + i, count), s = loadFirst(sin + i, count), a = loadFirst(to + i, count),
                 b = loadFirst(to + half + i, count);
    storeFirst(to + i, a * c - b * s, count);
    storeFirst(to + half + i, b * c + a * s, count);
  });
}

// Scores of Q queries, `padded` numbers each, with the keys of B vectors from vector `first` on.
template <int Q, int B, class T>
INLINE void scoreSome(const float* queries, int64_t padded, const T* keys, int64_t first, float* scores,
                      int64_t stride) {
  constexpr int64_t PER_BLOCK = KEY_BLOCK / LANES;
  Vector sums[Q][B] = {};
  const T* from[B];
  UNROLL
  for (int b = 0; b < B; ++b)
    from[b] = keys + (first + b) / PER_BLOCK * padded * KEY_BLOCK + (first + b) % PER_BLOCK * LANES;
  for (int64_t d = 0; d < padded; ++d) {
    UNROLL
    for (int b = 0; b < B; ++b) {
      const Vector key = load(from[b] + d * KEY_BLOCK);
      UNROLL
      for (int q = 0; q < Q; ++q) sums[q][b] += key * queries[q * padded + d];
    }
  }
  UNROLL
  for (int q = 0; q < Q; ++q) {
    UNROLL
    for (int b = 0; b < B; ++b) store(scores + q * stride + (first + b) * LANES, sums[q][b]);
  }
}

// The same for all blocks: [Q, stride]. Several vectors at a time, to have enough sums under way.
template <int Q, class T>
INLINE void scoreBlocks(const float* queries, int64_t padded, const T* keys, int64_t blocks, float* scores,
                        int64_t stride) {
  constexpr int MOST = 8 / Q;
  const int64_t vectors = blocks * (KEY_BLOCK / LANES);
  int64_t first = 0;
  const auto some = [&](auto count) INLINED {
    scoreSome<Q, count>(queries, padded, keys, first, scores, stride);
    first += count;
  };
  while (first + MOST <= vectors) some(std::integral_constant<int, MOST>());
  if constexpr (MOST > 4)
    if (first + 4 <= vectors) some(std::integral_constant<int, 4>());
  if constexpr (MOST > 2)
    if (first + 2 <= vectors) some(std::integral_constant<int, 2>());
  if (first < vectors) some(std::integral_constant<int, 1>());
}

// Adds weights × values of `length` tokens to C vectors from each of Q outputs.
template <int Q, int C, class T>
INLINE void addColumns(const float* weights, int64_t stride, const T* values, int64_t length, int64_t padded,
                       float* out) {
  Vector sums[Q][C];
  UNROLL
  for (int q = 0; q < Q; ++q) {
    UNROLL
    for (int c = 0; c < C; ++c) sums[q][c] = load(out + q * padded + c * LANES);
  }
  for (int64_t t = 0; t < length; ++t) {
    Vector value[C];
    UNROLL
    for (int c = 0; c < C; ++c) value[c] = load(values + t * padded + c * LANES);
    UNROLL
    for (int q = 0; q < Q; ++q) {
      UNROLL
      for (int c = 0; c < C; ++c) sums[q][c] += value[c] * weights[q * stride + t];
    }
  }
  UNROLL
  for (int q = 0; q < Q; ++q) {
    UNROLL
    for (int c = 0; c < C; ++c) store(out + q * padded + c * LANES, sums[q][c]);
  }
}

template <int Q, class T>
INLINE void addValues(const float* weights, int64_t stride, const T* values, int64_t length, int64_t padded,
                      float* out) {
  constexpr int C = Q == 4 ? 2 : 4;
  int64_t at = 0;
  for (; at + C * LANES <= padded; at += C * LANES)
    addColumns<Q, C>(weights, stride, values + at, length, padded, out + at);
  for (; at < padded; at += LANES) addColumns<Q, 1>(weights, stride, values + at, length, padded, out + at);
}

// c × tanh(score / c) for each score. Apart, so that it takes no registers from the others.
__attribute__((noinline)) void capScores(float* scores, int64_t size, float softcap) {
  for (int64_t i = 0; i < size; i += LANES)
    store(scores + i, softcap * hyperbolicTangent(load(scores + i) * (1 / softcap)));
}

// e^(score − largest) of those that count, zeros elsewhere; their sum.
INLINE float weigh(float* scores, int64_t size) {
  Vector most = broadcast(LEAST);
  for (int64_t i = 0; i < size; i += LANES) most = larger(load(scores + i), most);
  const float largest = maximumOf(most);
  Vector total{};
  for (int64_t i = 0; i < size; i += LANES) {
    const Vector weight = exponential(load(scores + i) - largest);
    store(scores + i, weight);
    total += weight;
  }
  return sumOf(total);
}

// Keys of a prompt or a place that a row's queries see: so many blocks from `block` on, and in them from `first` to
// `end`.
struct Part {
  int64_t block, blocks, first, end;
};

// Of `length` keys with so many behind them.
INLINE Part partOf(int64_t length, int64_t behind, const Attention& job) {
  const int64_t past = std::clamp<int64_t>(length + behind - job.window, 0, length), block = past / KEY_BLOCK;
  if (past == length) return {};
  return {block, (length + KEY_BLOCK - 1) / KEY_BLOCK - block, past - block * KEY_BLOCK, length - block * KEY_BLOCK};
}

// Q query heads of one key head.
template <int Q, class T>
INLINE void attendHeads(const Attention& job, const Row& row, int64_t kvHead, int64_t head, float* scratch) {
  const int64_t padded = job.padded;
  const Part prompt = partOf(row.promptLength, row.length + 1, job), own = partOf(row.length + 1, 0, job);
  const int64_t stride = (prompt.blocks + own.blocks) * KEY_BLOCK, ownStart = prompt.blocks * KEY_BLOCK;
  float *queries = scratch, *sums = queries + Q * padded, *scores = sums + Q * padded;
  const T* from = static_cast<const T*>(job.query) + row.index * job.queryStride + head * job.width;
  for (int q = 0; q < Q; ++q) {
    readHead(job, from + q * job.width, job.queryNorm, row.index, queries + q * padded);
    for (int64_t i = 0; i < padded; i += LANES)
      store(queries + q * padded + i, load(queries + q * padded + i) * job.scale);
  }
  const int64_t promptAt =
      ((row.prompt * job.kvHeads + kvHead) * job.prompt.blocks + prompt.block) * KEY_BLOCK * padded;
  const int64_t ownAt = ((row.place * job.kvHeads + kvHead) * job.own.blocks + own.block) * KEY_BLOCK * padded;
  scoreBlocks<Q>(queries, padded, static_cast<const T*>(job.prompt.keys) + promptAt, prompt.blocks, scores, stride);
  scoreBlocks<Q>(queries, padded, static_cast<const T*>(job.own.keys) + ownAt, own.blocks, scores + ownStart, stride);
  if (job.softcap > 0) capScores(scores, Q * stride, job.softcap);
  float totals[Q];
  for (int q = 0; q < Q; ++q) {
    float* all = scores + q * stride;
    std::fill(all, all + prompt.first, LEAST);
    std::fill(all + prompt.end, all + ownStart + own.first, LEAST);
    std::fill(all + ownStart + own.end, all + stride, LEAST);
    totals[q] = weigh(all, stride);
  }
  std::fill(sums, sums + Q * padded, 0.f);
  const auto add = [&](const float* weights, const T* values, const Part& part) INLINED {
    addValues<Q>(weights + part.first, stride, values + part.first * padded, part.end - part.first, padded, sums);
  };
  add(scores, static_cast<const T*>(job.prompt.values) + promptAt, prompt);
  add(scores + ownStart, static_cast<const T*>(job.own.values) + ownAt, own);
  T* out = static_cast<T*>(job.out) + (row.index * job.heads + head) * job.width;
  for (int q = 0; q < Q; ++q)
    eachVector(job.width, [&](int64_t i, int64_t count) INLINED {
      storeFirst(out + q * job.width + i, load(sums + q * padded + i) / totals[q], count);
    });
}

template <class T>
INLINE void writeToken(const Attention& job, const Row& row, int64_t kvHead, float* scratch) {
  const int64_t padded = job.padded, at = (row.place * job.kvHeads + kvHead) * job.own.blocks * KEY_BLOCK * padded;
  readHead(job, static_cast<const T*>(job.key) + row.index * job.keyStride + kvHead * job.width, job.keyNorm, row.index,
           scratch);
  T* keys = static_cast<T*>(job.own.keys) + at + row.length / KEY_BLOCK * padded * KEY_BLOCK + row.length % KEY_BLOCK;
  for (int64_t d = 0; d < job.width; ++d) keys[d * KEY_BLOCK] = T(scratch[d]);
  const T* value = static_cast<const T*>(job.value) + row.index * job.valueStride + kvHead * job.width;
  std::copy(value, value + job.width, static_cast<T*>(job.own.values) + at + row.length * padded);
}

// A task is a row and a key head; those of one key head are neighbours, and among them the rows of one prompt.
template <class T>
void attend(const Attention& job, int64_t begin, int64_t end, float* scratch) {
  const int64_t shared = job.heads / job.kvHeads;
  for (int64_t task = begin; task < end; ++task) {
    const Row& row = job.rows[task % job.count];
    const int64_t kvHead = task / job.count, first = kvHead * shared;
    writeToken<T>(job, row, kvHead, scratch);
    int64_t head = 0;
    for (; head + 4 <= shared; head += 4) attendHeads<4, T>(job, row, kvHead, first + head, scratch);
    for (; head + 2 <= shared; head += 2) attendHeads<2, T>(job, row, kvHead, first + head, scratch);
    if (head < shared) attendHeads<1, T>(job, row, kvHead, first + head, scratch);
  }
}

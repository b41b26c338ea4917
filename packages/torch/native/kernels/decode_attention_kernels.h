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

// Calls run(Q, first) for four queries at a time, then for two and for one of the rest.
template <class Run>
INLINE void inFours(int64_t count, const Run& run) {
  int64_t first = 0;
  for (; first + 4 <= count; first += 4) run(std::integral_constant<int, 4>(), first);
  if (first + 2 <= count) run(std::integral_constant<int, 2>(), first), first += 2;
  if (first < count) run(std::integral_constant<int, 1>(), first);
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
  FOUR_AT_ONCE
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
void scoreBlocks(const float* queries, int64_t padded, const T* keys, int64_t blocks, float* scores, int64_t stride) {
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
  FOUR_AT_ONCE
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
void addValues(const float* weights, int64_t stride, const T* values, int64_t length, int64_t padded, float* out) {
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

// Computes Q queries of one key head, from query `first` on, row by row. The rows share the prompt's keys, which are
// read once.
template <int Q, class T>
INLINE void attendQueries(const Attention& job, const Row* rows, int64_t kvHead, int64_t first, float* scratch) {
  const int64_t padded = job.padded, shared = job.heads / job.kvHeads;
  const Row& some = rows[first / shared];
  const Part prompt = partOf(some.promptLength, some.length + 1, job);
  const int64_t ownStart = prompt.blocks * KEY_BLOCK;
  const Row* rowOf[Q];
  Part own[Q];
  int64_t stride = ownStart;
  for (int q = 0; q < Q; ++q) {
    rowOf[q] = rows + (first + q) / shared;
    own[q] = partOf(rowOf[q]->length + 1, 0, job);
    stride = std::max(stride, ownStart + own[q].blocks * KEY_BLOCK);
  }
  float *queries = scratch, *sums = queries + Q * padded, *scores = sums + Q * padded;
  const auto headOf = [&](int q) INLINED { return kvHead * shared + (first + q) % shared; };
  for (int q = 0; q < Q; ++q) {
    const T* from = static_cast<const T*>(job.query) + rowOf[q]->index * job.queryStride + headOf(q) * job.width;
    readHead(job, from, job.queryNorm, rowOf[q]->index, queries + q * padded);
    for (int64_t i = 0; i < padded; i += LANES)
      store(queries + q * padded + i, load(queries + q * padded + i) * job.scale);
  }
  // Calls run(Q, first) for the queries of each row.
  const auto ofEachRow = [&](const auto& run) INLINED {
    for (int q = 0, end; q < Q; q = end) {
      for (end = q + 1; end < Q && rowOf[end] == rowOf[q]; ++end) {}
      inFours(end - q, [&](auto count, int64_t from) INLINED { run(count, q + from); });
    }
  };
  const auto at = [&](const Cache& cache, int64_t place, const Part& part) INLINED {
    return ((place * job.kvHeads + kvHead) * cache.blocks + part.block) * KEY_BLOCK * padded;
  };
  const int64_t promptAt = at(job.prompt, some.prompt, prompt);
  scoreBlocks<Q>(queries, padded, static_cast<const T*>(job.prompt.keys) + promptAt, prompt.blocks, scores, stride);
  ofEachRow([&](auto count, int64_t q) INLINED {
    scoreBlocks<count>(queries + q * padded, padded,
                       static_cast<const T*>(job.own.keys) + at(job.own, rowOf[q]->place, own[q]), own[q].blocks,
                       scores + q * stride + ownStart, stride);
  });
  if (job.softcap > 0) capScores(scores, Q * stride, job.softcap);
  float totals[Q];
  for (int q = 0; q < Q; ++q) {
    float* all = scores + q * stride;
    std::fill(all, all + prompt.first, LEAST);
    std::fill(all + prompt.end, all + ownStart + own[q].first, LEAST);
    std::fill(all + ownStart + own[q].end, all + stride, LEAST);
    totals[q] = weigh(all, stride);
  }
  std::fill(sums, sums + Q * padded, 0.f);
  addValues<Q>(scores + prompt.first, stride,
               static_cast<const T*>(job.prompt.values) + promptAt + prompt.first * padded, prompt.end - prompt.first,
               padded, sums);
  ofEachRow([&](auto count, int64_t q) INLINED {
    const Part& part = own[q];
    const T* values = static_cast<const T*>(job.own.values) + at(job.own, rowOf[q]->place, part) + part.first * padded;
    addValues<count>(scores + q * stride + ownStart + part.first, stride, values, part.end - part.first, padded,
                     sums + q * padded);
  });
  for (int q = 0; q < Q; ++q) {
    T* out = static_cast<T*>(job.out) + (rowOf[q]->index * job.heads + headOf(q)) * job.width;
    eachVector(job.width, [&](int64_t i, int64_t count)
                              INLINED { storeFirst(out + i, load(sums + q * padded + i) / totals[q], count); });
  }
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

// A task is a key head of a group of rows; those of one key head are neighbours, and among them the groups of one
// prompt.
template <class T>
void attend(const Attention& job, int64_t begin, int64_t end, float* scratch) {
  for (int64_t task = begin; task < end; ++task) {
    const Group& group = job.groups[task % job.count];
    const Row* rows = job.rows + group.first;
    const int64_t kvHead = task / job.count;
    for (int64_t r = 0; r < group.count; ++r) writeToken<T>(job, rows[r], kvHead, scratch);
    inFours(group.count * (job.heads / job.kvHeads),
            [&](auto count, int64_t first) INLINED { attendQueries<count, T>(job, rows, kvHead, first, scratch); });
  }
}

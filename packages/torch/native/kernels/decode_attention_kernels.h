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

// Queries that meet keys together, and sums under way: as many as registers hold beside the keys.
constexpr int TILE = LANES == 16 ? 8 : 4;
constexpr int MOST_SUMS = 2 * TILE;

int64_t tileQueries() { return TILE; }

// Calls run(Q, first) for tiles of at most MOST queries.
template <int MOST, class Run>
INLINE void inTiles(int64_t count, const Run& run) {
  int64_t first = 0;
  for (; first + MOST <= count; first += MOST) run(std::integral_constant<int, MOST>(), first);
  if constexpr (MOST > 4)
    if (first + 4 <= count) run(std::integral_constant<int, 4>(), first), first += 4;
  if constexpr (MOST > 2)
    if (first + 2 <= count) run(std::integral_constant<int, 2>(), first), first += 2;
  if constexpr (MOST > 1)
    if (first < count) run(std::integral_constant<int, 1>(), first);
}

// Keys and values that are read now, and the keys that are read next. Each is a short run in memory, far from the
// others, which no processor foresees: values are fetched with the keys before them, and the next keys with the values.
template <class T>
struct Runs {
  const T *keys, *values, *next;
};

template <class T>
INLINE void fetch(const T* ahead) {
  __builtin_prefetch(ahead, 0, 2);
}

// Scores of Q queries, `padded` numbers each, with the keys of B vectors from vector `first` on.
template <int Q, int B, class T>
INLINE void scoreSome(const float* queries, int64_t padded, const Runs<T>& runs, int64_t first, float* scores,
                      int64_t stride) {
  constexpr int64_t PER_BLOCK = KEY_BLOCK / LANES;
  Vector sums[Q][B] = {};
  const T* from[B];
  UNROLL
  for (int b = 0; b < B; ++b)
    from[b] = runs.keys + (first + b) / PER_BLOCK * padded * KEY_BLOCK + (first + b) % PER_BLOCK * LANES;
  const T* ahead = runs.values + first * LANES * padded;
  FOUR_AT_ONCE
  for (int64_t d = 0; d < padded; ++d) {
    UNROLL
    for (int b = 0; b < B; ++b) {
      const Vector key = load(from[b] + d * KEY_BLOCK);
      fetch(ahead + (d * B + b) * LANES);
      UNROLL
      for (int q = 0; q < Q; ++q) sums[q][b] = plusProduct(sums[q][b], key, broadcast(queries[q * padded + d]));
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
void scoreBlocks(const float* queries, int64_t padded, const Runs<T>& runs, int64_t blocks, float* scores,
                 int64_t stride) {
  constexpr int MOST = std::min(8, MOST_SUMS / Q);
  const int64_t vectors = blocks * (KEY_BLOCK / LANES);
  int64_t first = 0;
  const auto some = [&](auto count) INLINED {
    scoreSome<Q, count>(queries, padded, runs, first, scores, stride);
    first += count;
  };
  while (first + MOST <= vectors) some(std::integral_constant<int, MOST>());
  if constexpr (MOST > 4)
    if (first + 4 <= vectors) some(std::integral_constant<int, 4>());
  if constexpr (MOST > 2)
    if (first + 2 <= vectors) some(std::integral_constant<int, 2>());
  if (first < vectors) some(std::integral_constant<int, 1>());
}

// Adds weights × values of tokens `first` … `end` to C vectors from vector `at` of each of Q outputs.
template <int Q, int C, class T>
INLINE void addColumns(const float* weights, int64_t stride, const Runs<T>& runs, int64_t first, int64_t end,
                       int64_t padded, int64_t at, float* out) {
  Vector sums[Q][C];
  UNROLL
  for (int q = 0; q < Q; ++q) {
    UNROLL
    for (int c = 0; c < C; ++c) sums[q][c] = load(out + q * padded + at + c * LANES);
  }
  FOUR_AT_ONCE
  for (int64_t t = first; t < end; ++t) {
    Vector value[C];
    UNROLL
    for (int c = 0; c < C; ++c) {
      value[c] = load(runs.values + t * padded + at + c * LANES);
      fetch(runs.next + t * padded + at + c * LANES);
    }
    UNROLL
    for (int q = 0; q < Q; ++q) {
      UNROLL
      for (int c = 0; c < C; ++c) sums[q][c] = plusProduct(sums[q][c], value[c], broadcast(weights[q * stride + t]));
    }
  }
  UNROLL
  for (int q = 0; q < Q; ++q) {
    UNROLL
    for (int c = 0; c < C; ++c) store(out + q * padded + at + c * LANES, sums[q][c]);
  }
}

template <int Q, class T>
void addValues(const float* weights, int64_t stride, const Runs<T>& runs, int64_t first, int64_t end, int64_t padded,
               float* out) {
  constexpr int C = std::min(4, MOST_SUMS / Q);
  int64_t at = 0;
  for (; at + C * LANES <= padded; at += C * LANES)
    addColumns<Q, C>(weights, stride, runs, first, end, padded, at, out);
  for (; at < padded; at += LANES) addColumns<Q, 1>(weights, stride, runs, first, end, padded, at, out);
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

// The least score to keys that a part does not have.
INLINE void fillOutside(float* scores, int64_t size, const Part& part) {
  for (int64_t i = 0; i < size; i += LANES)
    if (i < part.first || i + LANES > part.end)
      store(scores + i, filled(load(scores + i), part.first - i, part.end - i, LEAST));
}

// Of `length` keys with so many behind them.
INLINE Part partOf(int64_t length, int64_t behind, const Attention& job) {
  const int64_t past = std::clamp<int64_t>(length + behind - job.window, 0, length), block = past / KEY_BLOCK;
  if (past == length) return {};
  return {block, (length + KEY_BLOCK - 1) / KEY_BLOCK - block, past - block * KEY_BLOCK, length - block * KEY_BLOCK};
}

// A key head of a group of rows. Those of one key head are neighbours, and among them the groups of one prompt.
struct Task {
  const Row* rows;
  int64_t count, kvHead;
};

INLINE Task taskAt(const Attention& job, int64_t place) {
  const Group& group = job.groups[place % job.count];
  return {job.rows + group.first, group.count, place / job.count};
}

// Computes Q queries of a task, from query `first` on, row by row. The rows share the prompt's keys, which are read
// once.
template <int Q, class T>
INLINE void attendQueries(const Attention& job, const Task& task, const Task& next, int64_t first, float* scratch) {
  const int64_t padded = job.padded, shared = job.heads / job.kvHeads;
  const Row& some = task.rows[first / shared];
  const Part prompt = partOf(some.promptLength, some.length + 1, job);
  const int64_t ownStart = prompt.blocks * KEY_BLOCK;
  const Row* rowOf[Q];
  Part own[Q];
  int64_t stride = ownStart;
  for (int q = 0; q < Q; ++q) {
    rowOf[q] = task.rows + (first + q) / shared;
    own[q] = partOf(rowOf[q]->length + 1, 0, job);
    stride = std::max(stride, ownStart + own[q].blocks * KEY_BLOCK);
  }
  float *queries = scratch, *sums = queries + Q * padded, *scores = sums + Q * padded;
  const auto headOf = [&](int q) INLINED { return task.kvHead * shared + (first + q) % shared; };
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
      inTiles<Q>(end - q, [&](auto count, int64_t from) INLINED { run(count, q + from); });
    }
  };
  const auto runsOf = [&](const Cache& cache, int64_t place, const Part& part, int64_t nextPlace) INLINED {
    const auto at = [&](int64_t place, int64_t kvHead, int64_t block) INLINED {
      return ((place * job.kvHeads + kvHead) * cache.blocks + block) * KEY_BLOCK * padded;
    };
    const T *keys = static_cast<const T*>(cache.keys), *values = static_cast<const T*>(cache.values);
    const int64_t here = at(place, task.kvHead, part.block);
    return Runs<T>{keys + here, values + here, keys + at(nextPlace, next.kvHead, part.block)};
  };
  const auto ownRuns = [&](int64_t q) INLINED {
    const Row& after = next.rows[std::min(rowOf[q] - task.rows, next.count - 1)];
    return runsOf(job.own, rowOf[q]->place, own[q], after.place);
  };
  const Runs<T> promptRuns = runsOf(job.prompt, some.prompt, prompt, next.rows->prompt);
  scoreBlocks<Q>(queries, padded, promptRuns, prompt.blocks, scores, stride);
  ofEachRow([&](auto count, int64_t q) INLINED {
    scoreBlocks<count>(queries + q * padded, padded, ownRuns(q), own[q].blocks, scores + q * stride + ownStart, stride);
  });
  if (job.softcap > 0) capScores(scores, Q * stride, job.softcap);
  float totals[Q];
  for (int q = 0; q < Q; ++q) {
    float* all = scores + q * stride;
    fillOutside(all, ownStart, prompt);
    fillOutside(all + ownStart, stride - ownStart, own[q]);
    totals[q] = weigh(all, stride);
  }
  std::fill(sums, sums + Q * padded, 0.f);
  addValues<Q>(scores, stride, promptRuns, prompt.first, prompt.end, padded, sums);
  ofEachRow([&](auto count, int64_t q) INLINED {
    addValues<count>(scores + q * stride + ownStart, stride, ownRuns(q), own[q].first, own[q].end, padded,
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
  T* rounded = reinterpret_cast<T*>(scratch + padded);
  for (int64_t d = 0; d < padded; d += LANES) store(rounded + d, load(scratch + d));
  for (int64_t d = 0; d < job.width; ++d) keys[d * KEY_BLOCK] = rounded[d];
  const T* value = static_cast<const T*>(job.value) + row.index * job.valueStride + kvHead * job.width;
  std::copy(value, value + job.width, static_cast<T*>(job.own.values) + at + row.length * padded);
}

template <class T>
void attend(const Attention& job, int64_t begin, int64_t end, float* scratch) {
  for (int64_t place = begin; place < end; ++place) {
    const Task task = taskAt(job, place), next = taskAt(job, std::min(place + 1, end - 1));
    for (int64_t r = 0; r < task.count; ++r) writeToken<T>(job, task.rows[r], task.kvHead, scratch);
    inTiles<TILE>(task.count * (job.heads / job.kvHeads),
                  [&](auto count, int64_t first) INLINED { attendQueries<count, T>(job, task, next, first, scratch); });
  }
}

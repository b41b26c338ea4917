// grpo::decode_attention: one new token a row. Its key and value go into the row's place of the cache, and its queries
// meet its prompt, which the rows of a group share, and what the row wrote before.
//
// Keys lie in blocks of sixteen, a dimension's sixteen numbers side by side: scores of sixteen keys come without sums
// across a vector, and a new key touches memory that is read next anyway. Values lie a token after another.
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "decode.h"
#include "simd.h"

namespace grpo {
namespace {

// Where a row stands: its place in the cache, its prompt, and how many tokens each holds.
struct Row {
  int64_t index, place, prompt, promptLength, length;
};

struct Cache {
  void *keys, *values;
  int64_t blocks;
};

struct Attention {
  const void *query, *key, *value, *queryNorm, *keyNorm, *cos, *sin;
  int64_t queryStride, keyStride, valueStride;
  Cache own, prompt;
  const Row* rows;
  void* out;
  // Query heads, key heads, numbers a head, and those with padding to whole vectors.
  int64_t count, heads, kvHeads, width, padded;
  float eps;
};

constexpr float LEAST = -INFINITY;

// A head's numbers as floats, normed and turned, zeros behind.
template <typename T>
GRPO_INLINE void readHead(const Attention& job, const T* from, const void* norm, int64_t row, float* to) {
  const int64_t width = job.width, half = width / 2;
  Floats squares{};
  eachSixteen(width, [&](int64_t i, int64_t count) GRPO_INLINED {
    const Floats x = loadUpTo(from + i, count);
    squares += x * x;
    store(to + i, x);
  });
  if (norm) {
    const float scale = 1 / std::sqrt(sumOf(squares) / width + job.eps);
    eachSixteen(width, [&](int64_t i, int64_t count) GRPO_INLINED {
      store(to + i, load(to + i) * scale * loadUpTo(static_cast<const T*>(norm) + i, count));
    });
  }
  if (!job.cos) return;
  const T *cos = static_cast<const T*>(job.cos) + row * half, *sin = static_cast<const T*>(job.sin) + row * half;
  eachSixteen(half, [&](int64_t i, int64_t count) GRPO_INLINED {
    const Floats c = loadUpTo(cos + i, count), s = loadUpTo(sin + i, count), a = loadUpTo(to + i, count), b = loadUpTo(to + half + i, count);
    storeUpTo(to + i, a * c - b * s, count);
    storeUpTo(to + half + i, b * c + a * s, count);
  });
}

// Scores of Q queries, `padded` numbers each, with B blocks of keys.
template <int Q, int B, typename T>
GRPO_INLINE void scoreSome(const float* queries, int64_t padded, const T* keys, float* scores, int64_t stride) {
  Floats sums[Q][B] = {};
  for (int64_t d = 0; d < padded; ++d)
    GRPO_UNROLL
    for (int b = 0; b < B; ++b) {
      const Floats key = load(keys + (b * padded + d) * LANES);
      GRPO_UNROLL
      for (int q = 0; q < Q; ++q) sums[q][b] += key * queries[q * padded + d];
    }
  GRPO_UNROLL
  for (int q = 0; q < Q; ++q)
    GRPO_UNROLL
    for (int b = 0; b < B; ++b) store(scores + q * stride + b * LANES, sums[q][b]);
}

// The same for all blocks: [Q, stride]. Several at a time, to have enough sums under way.
template <int Q, typename T>
GRPO_INLINE void scoreBlocks(const float* queries, int64_t padded, const T* keys, int64_t blocks, float* scores, int64_t stride) {
  constexpr int MOST = 8 / Q;
  int64_t block = 0;
  const auto some = [&](auto count) GRPO_INLINED {
    scoreSome<Q, count>(queries, padded, keys + block * padded * LANES, scores + block * LANES, stride);
    block += count;
  };
  while (block + MOST <= blocks) some(std::integral_constant<int, MOST>());
  if constexpr (MOST > 4)
    if (block + 4 <= blocks) some(std::integral_constant<int, 4>());
  if constexpr (MOST > 2)
    if (block + 2 <= blocks) some(std::integral_constant<int, 2>());
  if (block < blocks) some(std::integral_constant<int, 1>());
}

// Adds weights × values of `length` tokens to C vectors from each of Q outputs.
template <int Q, int C, typename T>
GRPO_INLINE void addColumns(const float* weights, int64_t stride, const T* values, int64_t length, int64_t padded, float* out) {
  Floats sums[Q][C];
  GRPO_UNROLL
  for (int q = 0; q < Q; ++q)
    GRPO_UNROLL
    for (int c = 0; c < C; ++c) sums[q][c] = load(out + q * padded + c * LANES);
  for (int64_t t = 0; t < length; ++t) {
    Floats value[C];
    GRPO_UNROLL
    for (int c = 0; c < C; ++c) value[c] = load(values + t * padded + c * LANES);
    GRPO_UNROLL
    for (int q = 0; q < Q; ++q)
      GRPO_UNROLL
      for (int c = 0; c < C; ++c) sums[q][c] += value[c] * weights[q * stride + t];
  }
  GRPO_UNROLL
  for (int q = 0; q < Q; ++q)
    GRPO_UNROLL
    for (int c = 0; c < C; ++c) store(out + q * padded + c * LANES, sums[q][c]);
}

template <int Q, typename T>
GRPO_INLINE void addValues(const float* weights, int64_t stride, const T* values, int64_t length, int64_t padded, float* out) {
  constexpr int C = Q == 4 ? 2 : 4;
  int64_t at = 0;
  for (; at + C * LANES <= padded; at += C * LANES) addColumns<Q, C>(weights, stride, values + at, length, padded, out + at);
  for (; at < padded; at += LANES) addColumns<Q, 1>(weights, stride, values + at, length, padded, out + at);
}

// e^(score − largest) of those that count, zeros elsewhere; their sum.
GRPO_INLINE float weigh(float* scores, int64_t size) {
  Floats most = Floats{} + LEAST;
  for (int64_t i = 0; i < size; i += LANES) most = maximum(load(scores + i), most);
  const float largest = maximumOf(most);
  Floats total{};
  for (int64_t i = 0; i < size; i += LANES) {
    const Floats weight = expOf(load(scores + i) - largest);
    store(scores + i, weight);
    total += weight;
  }
  return sumOf(total);
}

// Q query heads of one key head.
template <int Q, typename T>
GRPO_INLINE void attendHeads(const Attention& job, const Row& row, int64_t kvHead, int64_t head, float* scratch) {
  const int64_t padded = job.padded;
  const int64_t promptBlocks = (row.promptLength + LANES - 1) / LANES, ownBlocks = row.length / LANES + 1;
  const int64_t stride = (promptBlocks + ownBlocks) * LANES, ownStart = promptBlocks * LANES;
  float *queries = scratch, *sums = queries + Q * padded, *scores = sums + Q * padded;
  const T* from = static_cast<const T*>(job.query) + row.index * job.queryStride + head * job.width;
  const float scale = 1 / std::sqrt(float(job.width));
  for (int q = 0; q < Q; ++q) {
    readHead(job, from + q * job.width, job.queryNorm, row.index, queries + q * padded);
    for (int64_t i = 0; i < padded; i += LANES) store(queries + q * padded + i, load(queries + q * padded + i) * scale);
  }
  const int64_t promptAt = (row.prompt * job.kvHeads + kvHead) * job.prompt.blocks * LANES * padded;
  const int64_t ownAt = (row.place * job.kvHeads + kvHead) * job.own.blocks * LANES * padded;
  scoreBlocks<Q>(queries, padded, static_cast<const T*>(job.prompt.keys) + promptAt, promptBlocks, scores, stride);
  scoreBlocks<Q>(queries, padded, static_cast<const T*>(job.own.keys) + ownAt, ownBlocks, scores + ownStart, stride);
  float totals[Q];
  for (int q = 0; q < Q; ++q) {
    float* own = scores + q * stride;
    std::fill(own + row.promptLength, own + ownStart, LEAST);
    std::fill(own + ownStart + row.length + 1, own + stride, LEAST);
    totals[q] = weigh(own, stride);
  }
  std::fill(sums, sums + Q * padded, 0.f);
  addValues<Q>(scores, stride, static_cast<const T*>(job.prompt.values) + promptAt, row.promptLength, padded, sums);
  addValues<Q>(scores + ownStart, stride, static_cast<const T*>(job.own.values) + ownAt, row.length + 1, padded, sums);
  T* out = static_cast<T*>(job.out) + (row.index * job.heads + head) * job.width;
  for (int q = 0; q < Q; ++q)
    eachSixteen(job.width, [&](int64_t i, int64_t count) GRPO_INLINED {
      storeUpTo(out + q * job.width + i, load(sums + q * padded + i) / totals[q], count);
    });
}

template <typename T>
GRPO_INLINE void writeToken(const Attention& job, const Row& row, int64_t kvHead, float* scratch) {
  const int64_t padded = job.padded, at = (row.place * job.kvHeads + kvHead) * job.own.blocks * LANES * padded;
  readHead(job, static_cast<const T*>(job.key) + row.index * job.keyStride + kvHead * job.width, job.keyNorm, row.index, scratch);
  T* keys = static_cast<T*>(job.own.keys) + at + row.length / LANES * padded * LANES + row.length % LANES;
  for (int64_t d = 0; d < job.width; ++d) keys[d * LANES] = T(scratch[d]);
  const T* value = static_cast<const T*>(job.value) + row.index * job.valueStride + kvHead * job.width;
  std::copy(value, value + job.width, static_cast<T*>(job.own.values) + at + row.length * padded);
}

// A task is a row and a key head; those of one key head are neighbours, and among them the rows of one prompt.
template <typename T>
GRPO_INLINE void attendTasks(const Attention& job, int64_t begin, int64_t end, float* scratch) {
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

GRPO_CLONES void attend(const Attention& job, int64_t begin, int64_t end, float* scratch, float) {
  attendTasks<float>(job, begin, end, scratch);
}

GRPO_CLONES void attend(const Attention& job, int64_t begin, int64_t end, float* scratch, at::BFloat16) {
  attendTasks<at::BFloat16>(job, begin, end, scratch);
}

// Keys [count, kvHeads, blocks, padded, 16] and values [count, kvHeads, blocks × 16, padded].
void checkCache(const char* name, const at::Tensor& keys, const at::Tensor& values, int64_t kvHeads, int64_t padded) {
  TORCH_CHECK(keys.dim() == 5 && keys.size(1) == kvHeads && keys.size(3) == padded && keys.size(4) == LANES && keys.is_contiguous(), name,
              " keys must be [count, ", kvHeads, ", blocks, ", padded, ", 16] and contiguous, found ", keys.sizes());
  TORCH_CHECK(values.dim() == 4 && values.size(0) == keys.size(0) && values.size(1) == kvHeads && values.size(2) == keys.size(2) * LANES && values.size(3) == padded && values.is_contiguous(),
              name, " values must be [", keys.size(0), ", ", kvHeads, ", ", keys.size(2) * LANES, ", ", padded, "] and contiguous, found ", values.sizes());
}

// The table [N, 4]: place, prompt, tokens of the prompt, tokens in the place. Rows of one prompt come side by side.
std::vector<Row> rowsOf(const at::Tensor& table, const at::Tensor& ownKeys, const at::Tensor& promptKeys, int64_t n) {
  TORCH_CHECK(table.device().is_cpu() && table.layout() == at::kStrided && table.scalar_type() == at::kLong && table.dim() == 2 && table.size(0) == n && table.size(1) == 4 && table.is_contiguous(),
              "rows must be int64 [", n, ", 4] and contiguous, found ", table.scalar_type(), " ", table.sizes());
  const int64_t* entries = table.data_ptr<int64_t>();
  const auto within = [](const char* what, int64_t value, int64_t end) { TORCH_CHECK(value >= 0 && value < end, what, " is ", value, ", out of range [0, ", end, ")"); };
  std::vector<bool> taken(ownKeys.size(0));
  std::vector<Row> rows;
  rows.reserve(n);
  for (int64_t i = 0; i < n; ++i) {
    const Row row{i, entries[4 * i], entries[4 * i + 1], entries[4 * i + 2], entries[4 * i + 3]};
    within("a place", row.place, ownKeys.size(0));
    within("a prompt", row.prompt, promptKeys.size(0));
    within("a prompt's length", row.promptLength, promptKeys.size(2) * LANES + 1);
    within("a column", row.length, ownKeys.size(2) * LANES);
    TORCH_CHECK(!taken[row.place], "two rows have place ", row.place);
    taken[row.place] = true;
    rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.prompt < b.prompt; });
  return rows;
}

at::Tensor decodeAttention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, at::Tensor& ownKeys, at::Tensor& ownValues, const at::Tensor& promptKeys,
                           const at::Tensor& promptValues, const at::Tensor& table, const OptionalTensor& cosine, const OptionalTensor& sine, const OptionalTensor& queryNorm,
                           const OptionalTensor& keyNorm, double eps) {
  const auto cos = orNone(cosine), sin = orNone(sine), qNorm = orNone(queryNorm), kNorm = orNone(keyNorm);
  checkDecodes("decode_attention", {query, key, value, ownKeys, ownValues, promptKeys, promptValues, cos, sin, qNorm, kNorm});
  TORCH_CHECK(ownKeys.dim() == 5 && ownKeys.size(1) > 0 && query.dim() == 2 && key.dim() == 2, "query and key must be [N, heads × width], the cache's keys [count, kvHeads, blocks, width, 16]");
  const int64_t n = query.size(0), kvHeads = ownKeys.size(1), width = key.size(1) / kvHeads;
  TORCH_CHECK(width > 0 && key.size(1) == kvHeads * width && query.size(1) > 0 && query.size(1) % (width * kvHeads) == 0, "heads of query [", query.sizes(), "] are a multiple of the ",
              kvHeads, " of key [", key.sizes(), "]");
  const int64_t padded = (width + LANES - 1) / LANES * LANES;
  checkRows("query", query, n, query.size(1));
  checkRows("key", key, n, kvHeads * width);
  checkRows("value", value, n, kvHeads * width);
  checkCache("own", ownKeys, ownValues, kvHeads, padded);
  checkCache("prompt", promptKeys, promptValues, kvHeads, padded);
  TORCH_CHECK(cos.defined() == sin.defined() && (!cos.defined() || width % 2 == 0), "cos and sin come together, for an even width");
  for (const auto& turn : {cos, sin})
    TORCH_CHECK(!turn.defined() || (turn.numel() == n * (width / 2) && turn.is_contiguous()), "cos and sin must hold [", n, ", ", width / 2, "] numbers");
  if (qNorm.defined()) checkVector("query_norm", qNorm, width);
  if (kNorm.defined()) checkVector("key_norm", kNorm, width);
  const auto rows = rowsOf(table, ownKeys, promptKeys, n);
  auto out = at::empty({n, query.size(1)}, query.options());
  const auto data = [](const at::Tensor& tensor) { return tensor.defined() ? tensor.data_ptr() : nullptr; };
  const Attention job{data(query), data(key), data(value), data(qNorm), data(kNorm), data(cos), data(sin), query.stride(0), key.stride(0), value.stride(0),
                      {data(ownKeys), data(ownValues), ownKeys.size(2)}, {data(promptKeys), data(promptValues), promptKeys.size(2)}, rows.data(), data(out),
                      n, query.size(1) / width, kvHeads, width, padded, float(eps)};
  int64_t longest = 0, tokens = 0;
  for (const auto& row : rows) {
    longest = std::max(longest, row.promptLength + row.length + 2 * LANES);
    tokens += row.promptLength + row.length + 1;
  }
  const int64_t scratch = 4 * (2 * padded + longest);
  const int64_t workEach = n == 0 ? 1 : tokens / n * padded * job.heads / kvHeads;
  forDType(query, [&](auto kind) {
    at::parallel_for(0, n * kvHeads, grainOf(workEach / 4), [&](int64_t begin, int64_t end) {
      // Vectors of floats, for their alignment.
      std::vector<Floats> memory(scratch / LANES + 1);
      attend(job, begin, end, reinterpret_cast<float*>(memory.data()), kind);
    });
  });
  return out;
}

}  // namespace

void registerDecodeAttention(torch::Library& library) {
  library.def("decode_attention(Tensor query, Tensor key, Tensor value, Tensor(a!) own_keys, Tensor(b!) own_values, Tensor prompt_keys, Tensor prompt_values, Tensor rows, Tensor? cos, Tensor? sin, Tensor? query_norm, Tensor? key_norm, float eps) -> Tensor");
  library.impl("decode_attention", torch::dispatch(c10::DispatchKey::CompositeImplicitAutograd, TORCH_FN(decodeAttention)));
}

}  // namespace grpo

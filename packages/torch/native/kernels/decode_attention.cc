// grpo::decode_attention: one new token a row. Its key and value go into the row's place of the cache, and its queries
// meet its prompt, which the rows of a group share, and what the row wrote before; with a window, the last of these.
//
// Keys lie in blocks of sixteen, a dimension's sixteen numbers side by side: scores of sixteen keys come without sums
// across a vector, and a new key touches memory that is read next anyway. Values lie a token after another.
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <type_traits>
#include <vector>

#include "decode.h"
#include "scores.h"
#include "scratch.h"
#include "stages.h"

namespace grpo {
namespace {

// Where a row stands: its place in the cache, its prompt, and how many tokens each holds.
struct Row {
  int64_t index, place, prompt, promptLength, length;
};

// Rows that see the same keys of one prompt.
struct Group {
  int64_t first, count;
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
  const Group* groups;
  void* out;
  // Groups, query heads, key heads, numbers a head, those with padding to whole vectors, and those that are turned.
  int64_t count, heads, kvHeads, width, padded, turned;
  float eps;
  // Whether the norms' factors are float32, whatever the others are.
  bool wideNorms;
  // As checkScores has them, the window for a longest row at most.
  float scale;
  int64_t window;
  float softcap;
};

// Keys whose numbers of one dimension lie side by side; a head is padded to whole such blocks, too.
constexpr int64_t KEY_BLOCK = 16;

constexpr float LEAST = -INFINITY;

}  // namespace
}  // namespace grpo

#define KERNELS "decode_attention_kernels.h"
#include "each_level.h"

namespace grpo {
namespace {

// Keys [count, kvHeads, blocks, padded, 16] and values [count, kvHeads, blocks × 16, padded].
void checkCache(const char* name, const at::Tensor& keys, const at::Tensor& values, int64_t kvHeads, int64_t padded) {
  TORCH_CHECK(keys.dim() == 5 && keys.size(1) == kvHeads && keys.size(3) == padded && keys.size(4) == KEY_BLOCK &&
                  keys.is_contiguous(),
              name, " keys must be [count, ", kvHeads, ", blocks, ", padded, ", 16] and contiguous, found ",
              keys.sizes());
  TORCH_CHECK(values.dim() == 4 && values.size(0) == keys.size(0) && values.size(1) == kvHeads &&
                  values.size(2) == keys.size(2) * KEY_BLOCK && values.size(3) == padded && values.is_contiguous(),
              name, " values must be [", keys.size(0), ", ", kvHeads, ", ", keys.size(2) * KEY_BLOCK, ", ", padded,
              "] and contiguous, found ", values.sizes());
}

// The table [N, 4]: place, prompt, tokens of the prompt, tokens in the place. Rows of one prompt come side by side.
std::vector<Row> rowsOf(const at::Tensor& table, const at::Tensor& ownKeys, const at::Tensor& promptKeys, int64_t n) {
  TORCH_CHECK(table.device().is_cpu() && table.layout() == at::kStrided && table.scalar_type() == at::kLong &&
                  table.dim() == 2 && table.size(0) == n && table.size(1) == 4 && table.is_contiguous(),
              "rows must be int64 [", n, ", 4] and contiguous, found ", table.scalar_type(), " ", table.sizes());
  const int64_t* entries = table.data_ptr<int64_t>();
  const auto within = [](const char* what, int64_t value, int64_t end) {
    TORCH_CHECK(value >= 0 && value < end, what, " is ", value, ", out of range [0, ", end, ")");
  };
  std::vector<bool> taken(ownKeys.size(0));
  std::vector<Row> rows;
  rows.reserve(n);
  for (int64_t i = 0; i < n; ++i) {
    const Row row{i, entries[4 * i], entries[4 * i + 1], entries[4 * i + 2], entries[4 * i + 3]};
    within("a place", row.place, ownKeys.size(0));
    within("a prompt", row.prompt, promptKeys.size(0));
    within("a prompt's length", row.promptLength, promptKeys.size(2) * KEY_BLOCK + 1);
    within("a column", row.length, ownKeys.size(2) * KEY_BLOCK);
    TORCH_CHECK(!taken[row.place], "two rows have place ", row.place);
    taken[row.place] = true;
    rows.push_back(row);
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.prompt < b.prompt; });
  return rows;
}

// Splits rows into groups of at most `most` neighbours.
std::vector<Group> groupsOf(const std::vector<Row>& rows, int64_t most, bool windows) {
  std::vector<Group> groups;
  for (const auto& row : rows) {
    const auto joins = [&](const Row& first) {
      return row.prompt == first.prompt && row.promptLength == first.promptLength &&
             (!windows || row.length == first.length);
    };
    const int64_t at = &row - rows.data();
    if (!groups.empty() && groups.back().count < most && joins(rows[groups.back().first]))
      ++groups.back().count;
    else
      groups.push_back({at, 1});
  }
  return groups;
}

at::Tensor decodeAttention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value, at::Tensor& ownKeys,
                           at::Tensor& ownValues, const at::Tensor& promptKeys, const at::Tensor& promptValues,
                           const at::Tensor& table, const OptionalTensor& cosine, const OptionalTensor& sine,
                           const OptionalTensor& queryNorm, const OptionalTensor& keyNorm, double eps,
                           c10::optional<double> factor, int64_t window, double softcap) {
  const auto cos = orNone(cosine), sin = orNone(sine), qNorm = orNone(queryNorm), kNorm = orNone(keyNorm);
  checkDecodes("decode_attention", {query, key, value, ownKeys, ownValues, promptKeys, promptValues, cos, sin});
  TORCH_CHECK(ownKeys.dim() == 5 && ownKeys.size(1) > 0 && query.dim() == 2 && key.dim() == 2,
              "query and key must be [N, heads × width], the cache's keys [count, kvHeads, blocks, width, 16]");
  const int64_t n = query.size(0), kvHeads = ownKeys.size(1), width = key.size(1) / kvHeads;
  TORCH_CHECK(
      width > 0 && key.size(1) == kvHeads * width && query.size(1) > 0 && query.size(1) % (width * kvHeads) == 0,
      "heads of query [", query.sizes(), "] are a multiple of the ", kvHeads, " of key [", key.sizes(), "]");
  const int64_t padded = (width + KEY_BLOCK - 1) / KEY_BLOCK * KEY_BLOCK;
  checkRows("query", query, n, query.size(1));
  checkRows("key", key, n, kvHeads * width);
  checkRows("value", value, n, kvHeads * width);
  checkCache("own", ownKeys, ownValues, kvHeads, padded);
  checkCache("prompt", promptKeys, promptValues, kvHeads, padded);
  TORCH_CHECK(cos.defined() == sin.defined(), "cos and sin come together");
  const int64_t half = cos.defined() && cos.dim() > 0 ? cos.size(-1) : 0;
  for (const auto& turn : {cos, sin})
    TORCH_CHECK(!turn.defined() || (turn.numel() == n * half && turn.size(-1) == half && turn.is_contiguous()),
                "cos and sin must hold [", n, ", ", half, "] numbers");
  TORCH_CHECK(2 * half <= width, "cos and sin turn ", 2 * half, " numbers, a head has ", width);
  checkFactors("query_norm", qNorm, query, width);
  checkFactors("key_norm", kNorm, query, width);
  TORCH_CHECK(!qNorm.defined() || !kNorm.defined() || qNorm.scalar_type() == kNorm.scalar_type(),
              "query_norm and key_norm are of one dtype");
  const bool wideNorms = (qNorm.defined() ? qNorm : kNorm.defined() ? kNorm : query).scalar_type() == at::kFloat;
  checkScores(factor, window, softcap);
  const float scale = factor ? float(*factor) : 1 / std::sqrt(float(width));
  const auto rows = std::make_shared<const std::vector<Row>>(rowsOf(table, ownKeys, promptKeys, n));
  const int64_t heads = query.size(1) / width, tile = AT_LEVEL(tileQueries)();
  // Queries of a group fill tiles; fewer rows where a thread would have less than two groups.
  int64_t most = tile / std::gcd(tile, heads / kvHeads);
  while (most > 1 && n * kvHeads < 2 * most * at::get_num_threads()) most /= 2;
  const auto groups = std::make_shared<const std::vector<Group>>(groupsOf(*rows, most, window > 0));
  auto out = at::empty({n, query.size(1)}, query.options());
  int64_t longest = 0, tokens = 0;
  for (const auto& row : *rows) {
    const int64_t seen = row.promptLength + row.length + 1;
    longest = std::max(longest, row.promptLength + row.length + 2 * KEY_BLOCK);
    tokens += window == 0 ? seen : std::min(window, seen);
  }
  const int64_t scratch = tile * (2 * padded + longest), count = int64_t(groups->size());
  const int64_t workEach = n == 0 ? 1 : tokens / count * padded * heads / kvHeads;
  const auto perform = [=](auto kind, int64_t begin, int64_t end) {
    const auto data = [](const at::Tensor& tensor) { return tensor.defined() ? tensor.data_ptr() : nullptr; };
    const Attention job{data(query),
                        data(key),
                        data(value),
                        data(qNorm),
                        data(kNorm),
                        data(cos),
                        data(sin),
                        query.stride(0),
                        key.stride(0),
                        value.stride(0),
                        {data(ownKeys), data(ownValues), ownKeys.size(2)},
                        {data(promptKeys), data(promptValues), promptKeys.size(2)},
                        rows->data(),
                        groups->data(),
                        data(out),
                        count,
                        heads,
                        kvHeads,
                        width,
                        padded,
                        2 * half,
                        float(eps),
                        wideNorms,
                        scale,
                        window == 0 ? longest : std::min(window, longest),
                        float(softcap)};
    const Scratch memory(scratch);
    AT_LEVEL(attend<decltype(kind)>)(job, begin, end, memory.data);
  };
  forDType(query, [&](auto kind) {
    addStage({count * kvHeads, grainOf(workEach / 4), [=](int64_t begin, int64_t end) { perform(kind, begin, end); }},
             out.nbytes());
  });
  return out;
}

}  // namespace

void registerDecodeAttention(torch::Library& library) {
  library.def(
      "decode_attention(Tensor query, Tensor key, Tensor value, Tensor(a!) own_keys, Tensor(b!) own_values, Tensor "
      "prompt_keys, Tensor prompt_values, Tensor rows, Tensor? cos, Tensor? sin, Tensor? query_norm, Tensor? key_norm, "
      "float eps, *, float? scale=None, int window=0, float softcap=0.) -> Tensor");
  library.impl("decode_attention",
               torch::dispatch(c10::DispatchKey::CompositeImplicitAutograd, TORCH_FN(decodeAttention)));
}

}  // namespace grpo

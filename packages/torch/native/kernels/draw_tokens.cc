// grpo::draw_tokens: a token a row by inverting the cumulative distribution, with its log-probs, in passes over a row
// that stays in the nearest cache: no tensor as wide as the logits is made.
#include <ATen/Parallel.h>

#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "decode.h"
#include "simd.h"

namespace grpo {
namespace {

// Tokens whose probabilities are added up together when the drawn one is looked for.
constexpr int64_t BLOCK = 256;

constexpr float LEAST = -INFINITY;

struct Draws {
  const float* logits;
  // −∞ where a token may not be drawn, 0 elsewhere; null where all may.
  const float* forbidden;
  const double* uniforms;
  float temperature;
  int64_t vocab, stride;
  int64_t* tokens;
  float *logprobs, *sampledLogprobs;
};

// log softmax of a row is (x − largest) − logSum, rounded after each step as libtorch's is.
struct Normalizer {
  float largest, logSum;
};

struct RowOf {
  const float* logits;
  const float* forbidden;
  float temperature;

  // −∞ beyond the last token.
  GRPO_INLINE Floats at(int64_t i, int64_t count) const {
    Floats x = loadUpTo(logits + i, count);
    if (temperature != 1) x = x / temperature;
    if (forbidden) x += loadUpTo(forbidden + i, count);
    for (int64_t j = count; j < LANES; ++j) x[j] = LEAST;
    return x;
  }
};

// NaN where the row has no distribution: a logit is NaN or +∞, or none is above −∞.
GRPO_INLINE Normalizer normalizerOf(const RowOf& row, int64_t vocab) {
  Floats most = Floats{} + LEAST;
  Ints bad{};
  eachSixteen(vocab, [&](int64_t i, int64_t count) GRPO_INLINED {
    const Floats x = row.at(i, count);
    bad |= (Ints)(x != x);
    most = maximum(x, most);
  });
  int32_t nan = 0;
  for (int64_t i = 0; i < LANES; ++i) nan |= bad[i];
  const float largest = maximumOf(most);
  if (nan || std::isinf(largest)) return {largest, std::numeric_limits<float>::quiet_NaN()};
  Doubles sum{};
  eachSixteen(vocab, [&](int64_t i, int64_t count) GRPO_INLINED { addTo(sum, expOf(row.at(i, count) - largest)); });
  return {largest, float(std::log(sumOf(sum)))};
}

GRPO_INLINE Floats probabilities(const RowOf& row, const Normalizer& by, int64_t i, int64_t count) { return expOf((row.at(i, count) - by.largest) - by.logSum); }

struct Drawn {
  int64_t token;
  // Of all probabilities, which are rounded.
  double total;
};

// The first token at which the sum of probabilities is above u × their total.
GRPO_INLINE Drawn invert(const RowOf& row, const Normalizer& by, int64_t vocab, double u, double* blocks) {
  double total = 0;
  for (int64_t start = 0; start < vocab; start += BLOCK) {
    Doubles sum{};
    const int64_t size = std::min(BLOCK, vocab - start);
    eachSixteen(size, [&](int64_t i, int64_t count) GRPO_INLINED { addTo(sum, probabilities(row, by, start + i, count)); });
    total += blocks[start / BLOCK] = sumOf(sum);
  }
  const double wanted = u * total;
  double before = 0;
  int64_t block = 0;
  for (const int64_t last = (vocab - 1) / BLOCK; block < last && before + blocks[block] <= wanted; ++block) before += blocks[block];
  // Sums in another order may leave the wanted one at the very end: then it is the last token that can be.
  int64_t token = block * BLOCK;
  for (int64_t i = block * BLOCK; i < std::min(vocab, (block + 1) * BLOCK); i += LANES) {
    float p[LANES];
    store(p, probabilities(row, by, i, std::min(LANES, vocab - i)));
    for (int64_t j = 0; j < std::min(LANES, vocab - i); ++j) {
      if (p[j] > 0) token = i + j;
      before += p[j];
      if (before > wanted) return {token, total};
    }
  }
  return {token, total};
}

GRPO_INLINE int64_t likeliest(const RowOf& row, float largest, int64_t vocab) {
  for (int64_t i = 0; i < vocab; i += LANES) {
    const int64_t count = std::min(LANES, vocab - i);
    const Floats x = row.at(i, count);
    for (int64_t j = 0; j < count; ++j)
      if (x[j] == largest) return i + j;
  }
  return 0;
}

GRPO_CLONES void drawRows(const Draws& job, int64_t begin, int64_t end) {
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

std::tuple<at::Tensor, at::Tensor, at::Tensor> drawTokens(const at::Tensor& logits, const at::Tensor& uniforms, double temperature, const OptionalTensor& forbidden) {
  checkDecodes("draw_tokens", {logits});
  TORCH_CHECK(logits.scalar_type() == at::kFloat && logits.dim() == 2 && logits.size(1) > 0, "logits must be float32 [N, V], found ", logits.scalar_type(), " ", logits.sizes());
  const int64_t n = logits.size(0), vocab = logits.size(1);
  checkRows("logits", logits, n, vocab);
  TORCH_CHECK(temperature >= 0 && std::isfinite(float(temperature)), "temperature must be 0 or more, found ", temperature);
  TORCH_CHECK(uniforms.device().is_cpu() && uniforms.layout() == at::kStrided && uniforms.scalar_type() == at::kDouble && uniforms.dim() == 1 && uniforms.size(0) == n && uniforms.is_contiguous(),
              "uniforms must be float64 [", n, "] and contiguous, found ", uniforms.scalar_type(), " ", uniforms.sizes());
  at::Tensor hidden;
  if (forbidden && forbidden->defined()) {
    TORCH_CHECK(forbidden->device().is_cpu() && forbidden->scalar_type() == at::kBool && forbidden->dim() == 1 && forbidden->size(0) == vocab, "forbidden must be bool [", vocab, "]");
    hidden = at::zeros({vocab}, logits.options()).masked_fill_(*forbidden, LEAST);
  }
  auto tokens = at::empty({n}, uniforms.options().dtype(at::kLong));
  auto logprobs = at::empty({n}, logits.options()), sampled = at::empty({n}, logits.options());
  const Draws job{logits.data_ptr<float>(), hidden.defined() ? hidden.data_ptr<float>() : nullptr, uniforms.data_ptr<double>(), float(temperature), vocab, logits.stride(0),
                  tokens.data_ptr<int64_t>(), logprobs.data_ptr<float>(), sampled.data_ptr<float>()};
  at::parallel_for(0, n, grainOf(4 * vocab), [&](int64_t begin, int64_t end) { drawRows(job, begin, end); });
  return {tokens, logprobs, sampled};
}

}  // namespace

void registerDrawTokens(torch::Library& library) {
  library.def("draw_tokens(Tensor logits, Tensor uniforms, *, float temperature=1, Tensor? forbidden=None) -> (Tensor tokens, Tensor logprobs, Tensor sampled_logprobs)");
  library.impl("draw_tokens", torch::dispatch(c10::DispatchKey::CompositeImplicitAutograd, TORCH_FN(drawTokens)));
}

}  // namespace grpo

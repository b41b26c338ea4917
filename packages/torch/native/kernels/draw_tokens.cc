// grpo::draw_tokens: a token a row by inverting the cumulative distribution, with its log-probs, in passes over a row
// that stays in the nearest cache: no tensor as wide as the logits is made.
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "decode.h"
#include "stages.h"

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

}  // namespace
}  // namespace grpo

#define KERNELS "draw_tokens_kernels.h"
#include "each_level.h"

namespace grpo {
namespace {

std::tuple<at::Tensor, at::Tensor, at::Tensor> drawTokens(const at::Tensor& logits, const at::Tensor& uniforms,
                                                          double temperature, const OptionalTensor& forbidden) {
  checkDecodes("draw_tokens", {logits});
  TORCH_CHECK(logits.scalar_type() == at::kFloat && logits.dim() == 2 && logits.size(1) > 0,
              "logits must be float32 [N, V], found ", logits.scalar_type(), " ", logits.sizes());
  const int64_t n = logits.size(0), vocab = logits.size(1);
  checkRows("logits", logits, n, vocab);
  TORCH_CHECK(temperature >= 0 && std::isfinite(float(temperature)), "temperature must be 0 or more, found ",
              temperature);
  TORCH_CHECK(
      uniforms.device().is_cpu() && uniforms.layout() == at::kStrided && uniforms.scalar_type() == at::kDouble &&
          uniforms.dim() == 1 && uniforms.size(0) == n && uniforms.is_contiguous(),
      "uniforms must be float64 [", n, "] and contiguous, found ", uniforms.scalar_type(), " ", uniforms.sizes());
  at::Tensor hidden;
  if (forbidden && forbidden->defined()) {
    TORCH_CHECK(forbidden->device().is_cpu() && forbidden->scalar_type() == at::kBool && forbidden->dim() == 1 &&
                    forbidden->size(0) == vocab,
                "forbidden must be bool [", vocab, "]");
    performStages();
    hidden = at::zeros({vocab}, logits.options()).masked_fill_(*forbidden, LEAST);
  }
  auto tokens = at::empty({n}, uniforms.options().dtype(at::kLong));
  auto logprobs = at::empty({n}, logits.options()), sampled = at::empty({n}, logits.options());
  addStage({n, grainOf(4 * vocab),
            [=](int64_t begin, int64_t end) {
              const Draws job{logits.data_ptr<float>(),
                              hidden.defined() ? hidden.data_ptr<float>() : nullptr,
                              uniforms.data_ptr<double>(),
                              float(temperature),
                              vocab,
                              logits.stride(0),
                              tokens.data_ptr<int64_t>(),
                              logprobs.data_ptr<float>(),
                              sampled.data_ptr<float>()};
              AT_LEVEL(drawRows)(job, begin, end);
            }},
           sampled.nbytes());
  return {tokens, logprobs, sampled};
}

}  // namespace

void registerDrawTokens(torch::Library& library) {
  library.def(
      "draw_tokens(Tensor logits, Tensor uniforms, *, float temperature=1, Tensor? forbidden=None) -> (Tensor tokens, "
      "Tensor logprobs, Tensor sampled_logprobs)");
  library.impl("draw_tokens", torch::dispatch(c10::DispatchKey::CompositeImplicitAutograd, TORCH_FN(drawTokens)));
}

}  // namespace grpo

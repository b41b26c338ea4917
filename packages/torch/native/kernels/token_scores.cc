// grpo::token_scores: log-probs and entropies of tokens, and their full KL to another model, from the hidden states
// before them. The logits [T, V] are computed a chunk of rows at a time, and again for the backward pass; those of the
// last chunk are kept for it. Their gradients take their place.
#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "gradient_sum.h"
#include "linear.h"
#include "score_rows.h"
#include "token_sets.h"

namespace grpo {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;
using Optional = c10::optional<at::Tensor>;
using Scores = std::tuple<at::Tensor, at::Tensor, at::Tensor>;

bool given(const Optional& tensor) { return tensor && tensor->defined(); }

// In float32, or float64 where it is that.
at::Tensor widened(const at::Tensor& values) {
  return values.scalar_type() == at::kDouble ? values : values.to(at::kFloat);
}

// A model's hidden states [T, D] and its vocabulary projection [V, D].
struct Side {
  at::Tensor hidden;
  at::Tensor head;

  // Logits of some rows, in memory of their own.
  at::Tensor logits(int64_t start, int64_t rows) const { return grpo::linear(hidden.narrow(0, start, rows), head); }
};

// Below every logit, and finite: times a probability of 0 it is 0.
constexpr double kLeast = -1e30;

// c × tanh(z / c) in the memory of float32 logits.
at::Tensor capped(const at::Tensor& logits, double softcap) {
  const auto wide = widened(logits);
  return softcap == 0 ? wide : wide.div_(softcap).tanh_().mul_(softcap);
}

// Over the temperature, in the memory of the logits, and least where a row's set has no token.
at::Tensor scaled(const at::Tensor& logits, double temperature, const at::Tensor& outside) {
  if (temperature != 1) logits.div_(temperature);
  if (outside.defined()) logits.masked_fill_(outside, kLeast);
  return logits;
}

// Where the rows' sets have no token: bool [rows, vocabulary] on the logits' device; undefined where there are no sets.
at::Tensor outsideOf(const ScoreOptions& options, const at::Tensor& logits) {
  if (!options.offsets.defined()) return {};
  const int64_t rows = logits.size(0), vocab = logits.size(1);
  auto outside = at::zeros({rows, vocab}, at::kBool);
  std::vector<int32_t> ids;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t* at = options.offsets.data_ptr<int64_t>() + row;
    if (at[0] == at[1]) continue;
    const uint8_t* bytes = options.sets.data_ptr<uint8_t>();
    TokenSet{bytes + at[0], bytes + at[1]}.decode(vocab, ids);
    bool* is = outside.data_ptr<bool>() + row * vocab;
    std::fill(is, is + vocab, true);
    for (const int32_t id : ids) is[id] = false;
  }
  return outside.to(logits.device());
}

// log softmax in the memory of the logits, from log Σ exp of each row.
at::Tensor logSoftmaxOf(const at::Tensor& logits, const at::Tensor& normalizers) { return logits.sub_(normalizers); }

at::Tensor columnOf(const at::Tensor& values, int64_t start, int64_t rows) {
  return values.narrow(0, start, rows).unsqueeze(1);
}

// sum [V, D] += gradientᵀ [V, rows] × hiddenᵀ [D, rows]ᵀ, some rows of the vocabulary at a time.
void addHeadGradient(const at::Tensor& sum, const at::Tensor& gradient, const at::Tensor& hidden) {
  constexpr int64_t kPart = 1 << 14;
  const auto wide = hidden.contiguous();
  for (int64_t start = 0; start < sum.size(0); start += kPart) {
    const int64_t count = std::min(kPart, sum.size(0) - start);
    addToSum(sum.narrow(0, start, count), grpo::linear(gradient.narrow(1, start, count).t(), wide));
  }
}

// Rows of each chunk but the last: as many chunks as are needed, of about equal size.
int64_t evenChunk(int64_t rows, int64_t most) {
  const int64_t chunks = (rows + most - 1) / most;
  return (rows + chunks - 1) / chunks;
}

struct TokenScores : torch::autograd::Function<TokenScores> {
  static variable_list forward(AutogradContext* context, const at::Tensor& hidden, const at::Tensor& head,
                               const at::Tensor& targets, const Optional& otherHidden, const Optional& otherHead,
                               const ScoreOptions& options, int64_t mostRows, bool entropyGradient) {
    at::AutoDispatchBelowADInplaceOrView below;
    const Side own{hidden, head};
    const int64_t chunk = evenChunk(targets.size(0), mostRows);
    std::vector<at::Tensor> normalizers, logprobs, entropies, kls;
    at::Tensor kept;
    for (int64_t start = 0; start < targets.size(0); start += chunk) {
      const int64_t rows = std::min(chunk, targets.size(0) - start);
      const auto scores = own.logits(start, rows);
      const auto here = options.ofRows(start, rows);
      if (rowsServe(scores) && !given(otherHidden)) {
        const auto [normalizer, logprob, entropy] = scoreRows(scores, targets.narrow(0, start, rows), here);
        normalizers.push_back(normalizer);
        logprobs.push_back(logprob);
        entropies.push_back(entropy);
        if (start + rows == targets.size(0)) kept = scores;
        continue;
      }
      const auto outside = outsideOf(here, scores);
      const auto logits = scaled(capped(scores, here.softcap), here.temperature, outside);
      const auto normalizer = logits.logsumexp({-1}, true);
      const auto chosen = logits.gather(1, columnOf(targets, start, rows));
      const auto all = logSoftmaxOf(logits, normalizer);
      const auto p = all.exp();
      normalizers.push_back(normalizer.squeeze(1));
      logprobs.push_back(chosen.sub(normalizer).squeeze(1));
      if (given(otherHidden))
        kls.push_back(p.mul(all.sub(other({*otherHidden, *otherHead}, start, rows, here, outside))).sum({-1}));
      entropies.push_back(all.mul_(p).sum({-1}).neg());
    }
    const auto kl = kls.empty() ? at::empty({0}, hidden.options()) : at::cat(kls);
    variable_list scores{at::cat(logprobs), at::cat(entropies), kl};
    context->save_for_backward({hidden, head, targets, at::cat(normalizers), scores[1], kl,
                                otherHidden.value_or(at::Tensor()), otherHead.value_or(at::Tensor()), kept,
                                options.sets, options.offsets});
    context->saved_data["temperature"] = options.temperature;
    context->saved_data["softcap"] = options.softcap;
    context->saved_data["chunk"] = chunk;
    context->saved_data["kept"] = kept.defined();
    variable_list constant;
    if (!entropyGradient) constant.push_back(scores[1]);
    if (kls.empty()) constant.push_back(scores[2]);
    context->mark_non_differentiable(constant);
    context->set_materialize_grads(false);
    return scores;
  }

  // From the gradients g, h and k of log-prob, entropy and KL to those of the logits z, with p = softmax(z / t):
  // [g at the token − p g − h p (log p + H) + k p (log p − log q − KL)] / t, times 1 − tanh(z / c)² where they are
  // capped.
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    TORCH_CHECK(!at::GradMode::is_enabled(), "token_scores has no second derivative");
    const auto saved = context->get_saved_variables();
    const auto &targets = saved[2], &normalizers = saved[3], &entropies = saved[4], &kl = saved[5], &kept = saved[8];
    const Side own{saved[0], saved[1]};
    const ScoreOptions options{context->saved_data["temperature"].toDouble(), context->saved_data["softcap"].toDouble(),
                               saved[9], saved[10]};
    const int64_t chunk = context->saved_data["chunk"].toInt();
    const auto &g = gradients[0], &h = gradients[1], &k = gradients[2];
    const bool wantsHead = context->needs_input_grad(1);
    // Where the head's gradients have a sum in float32, they go there at once: no second one is ever held.
    const auto sum = wantsHead ? gradientSumOf(own.head) : at::Tensor();
    at::Tensor headGradient;
    // A second pass through a graph that is retained finds gradients where logits were kept.
    const bool isKept = context->saved_data["kept"].toBool();
    context->saved_data["kept"] = false;
    const int64_t last = (targets.size(0) - 1) / chunk;
    std::vector<at::Tensor> hiddenGradients(last + 1);
    for (int64_t i = last; i >= 0; --i) {
      const int64_t start = i * chunk, rows = std::min(chunk, targets.size(0) - start);
      const auto logits = isKept && i == last ? kept : own.logits(start, rows);
      const auto here = options.ofRows(start, rows);
      at::Tensor gradient;
      if (rowsServe(logits) && !k.defined()) {
        const auto of = [&](const at::Tensor& values) {
          return values.defined() ? values.narrow(0, start, rows).contiguous() : values;
        };
        gradientRows(logits, of(targets), here, {of(g), of(h), of(normalizers), of(entropies)});
        gradient = logits;
      } else {
        const auto of = [&](const at::Tensor& values) { return columnOf(values, start, rows); };
        const auto outside = outsideOf(here, logits), scores = capped(logits, here.softcap);
        const auto slope = here.softcap == 0 ? at::Tensor() : scores.div(here.softcap).square_().neg_().add_(1);
        const auto all = logSoftmaxOf(scaled(scores, here.temperature, outside), of(normalizers));
        at::Tensor factor = at::zeros({rows, 1}, all.options());
        if (g.defined()) factor = factor - of(g);
        if (h.defined()) factor = factor - (all + of(entropies)) * of(h);
        if (k.defined())
          factor = factor + (all - other({saved[6], saved[7]}, start, rows, here, outside) - of(kl)) * of(k);
        gradient = all.exp_().mul_(factor);
        if (g.defined()) gradient.scatter_add_(1, of(targets), of(g).to(gradient.scalar_type()));
        if (here.temperature != 1) gradient.div_(here.temperature);
        if (slope.defined()) gradient.mul_(slope);
        gradient = gradient.to(own.head.scalar_type());
      }
      const auto hidden = own.hidden.narrow(0, start, rows).t();
      if (sum.defined()) {
        addHeadGradient(sum, gradient, hidden);
      } else if (wantsHead) {
        const auto part = grpo::linear(gradient.t(), hidden.contiguous());
        // Half precision adds up in float32; one part is no sum.
        headGradient = headGradient.defined() ? widened(headGradient).add_(part) : part;
      }
      hiddenGradients[i] = grpo::linear(gradient, own.head.t());
    }
    return {at::cat(hiddenGradients),
            headGradient.defined() ? headGradient.to(own.head.scalar_type()) : at::Tensor(),
            {},
            {},
            {},
            {},
            {},
            {}};
  }

  // log q of the other model, by the operations of the first: equal weights give a KL of exactly 0.
  static at::Tensor other(const Side& side, int64_t start, int64_t rows, const ScoreOptions& here,
                          const at::Tensor& outside) {
    const auto logits = scaled(capped(side.logits(start, rows), here.softcap), here.temperature, outside);
    return logSoftmaxOf(logits, logits.logsumexp({-1}, true));
  }
};

// What the kernels may read: sets that are sound, each with its row's target.
void checkSets(const ScoreOptions& options, const at::Tensor& targets, int64_t vocab) {
  const auto &sets = options.sets, &offsets = options.offsets;
  const int64_t tokens = targets.size(0);
  TORCH_CHECK(sets.device().is_cpu() && sets.scalar_type() == at::kByte && sets.dim() == 1 && sets.is_contiguous(),
              "support is uint8 [bytes] on the CPU and contiguous, found ", sets.scalar_type(), " ", sets.sizes());
  TORCH_CHECK(offsets.device().is_cpu() && offsets.scalar_type() == at::kLong && offsets.dim() == 1 &&
                  offsets.size(0) == tokens + 1 && offsets.is_contiguous(),
              "support_offsets is int64 [", tokens + 1, "] on the CPU and contiguous, found ", offsets.scalar_type(),
              " ", offsets.sizes());
  const int64_t* at = offsets.data_ptr<int64_t>();
  const uint8_t* bytes = sets.data_ptr<uint8_t>();
  TORCH_CHECK(at[0] == 0 && at[tokens] == sets.size(0), "support_offsets goes from 0 to ", sets.size(0));
  for (int64_t t = 0; t < tokens; ++t) TORCH_CHECK(at[t] <= at[t + 1], "support_offsets falls at token ", t);
  const auto onCpu = targets.cpu();
  std::vector<int32_t> ids;
  for (int64_t t = 0; t < tokens; ++t) {
    if (at[t] == at[t + 1]) continue;
    const bool sound = TokenSet{bytes + at[t], bytes + at[t + 1]}.decode(vocab, ids);
    TORCH_CHECK(sound, "the support of token ", t, " is no set of ids below ", vocab);
    const int64_t target = onCpu.data_ptr<int64_t>()[t];
    TORCH_CHECK(std::binary_search(ids.begin(), ids.end(), target), "target ", t, " is ", target,
                ", which is not among the ", ids.size(), " ids of its support");
  }
}

Scores tokenScores(const at::Tensor& hidden, const at::Tensor& head, const at::Tensor& targets,
                   const Optional& otherHidden, const Optional& otherHead, double temperature, int64_t chunk,
                   bool entropyGradient, double softcap, const Optional& support, const Optional& supportOffsets) {
  TORCH_CHECK(hidden.dim() == 2 && head.dim() == 2 && hidden.size(1) == head.size(1),
              "hidden is [T, D] and head [V, D]");
  TORCH_CHECK(targets.dim() == 1 && targets.size(0) == hidden.size(0) && targets.scalar_type() == at::kLong &&
                  targets.device() == hidden.device(),
              "targets are int64 [T]");
  TORCH_CHECK(given(otherHidden) == given(otherHead), "the other model has hidden states and a head, or neither");
  TORCH_CHECK(!given(otherHidden) || (otherHidden->size(0) == hidden.size(0) && otherHead->size(0) == head.size(0)),
              "the other model's tokens and vocabulary are these");
  TORCH_CHECK(targets.size(0) > 0 && chunk > 0 && temperature > 0 && softcap >= 0,
              "there are tokens, chunk and temperature are above 0, and softcap is 0 or more");
  TORCH_CHECK(given(support) == given(supportOffsets), "support comes with its offsets");
  ScoreOptions options{temperature, softcap, {}, {}};
  if (given(support)) {
    options.sets = *support;
    options.offsets = *supportOffsets;
    checkSets(options, targets, head.size(0));
  }
  const auto scores =
      TokenScores::apply(hidden, head, targets.contiguous(), otherHidden, otherHead, options, chunk, entropyGradient);
  return {scores[0], scores[1], scores[2]};
}

}  // namespace

void registerTokenScores(torch::Library& library) {
  library.def(
      "token_scores(Tensor hidden, Tensor head, Tensor targets, Tensor? other_hidden=None, Tensor? other_head=None, *, "
      "float temperature=1, int chunk=512, bool entropy_gradient=False, float softcap=0, Tensor? support=None, Tensor? "
      "support_offsets=None) -> (Tensor logprobs, Tensor entropies, Tensor kl)");
  library.impl("token_scores", torch::dispatch(c10::DispatchKey::CompositeImplicitAutograd, TORCH_FN(tokenScores)));
}

}  // namespace grpo

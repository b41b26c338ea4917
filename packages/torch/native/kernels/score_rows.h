#pragma once
#include <ATen/ATen.h>

#include <tuple>

namespace grpo {

// Whether rows of such logits are scored in passes over each row, without a tensor as wide as the vocabulary.
bool rowsServe(const at::Tensor& logits);

// What is done to logits z before softmax, and which of them take part.
struct ScoreOptions {
  double temperature = 1;
  // c of c × tanh(z / c), 0 for z itself; before the temperature.
  double softcap = 0;
  // Coded sets of tokens, uint8 [B], and where each row's begins and the last one ends, int64 [N + 1] and contiguous:
  // softmax is over a row's set, or over all tokens where it takes no bytes. Undefined: over all, in every row.
  at::Tensor sets, offsets;

  ScoreOptions ofRows(int64_t start, int64_t rows) const {
    return {temperature, softcap, sets, offsets.defined() ? offsets.narrow(0, start, rows + 1) : offsets};
  }
};

// log Σ exp of each row [N, V] of logits, the log-prob of its target and its entropy, float32 [N].
std::tuple<at::Tensor, at::Tensor, at::Tensor> scoreRows(const at::Tensor& logits, const at::Tensor& targets,
                                                         const ScoreOptions& options);

// What the gradient of a row's logits is made of, float32 [N] each.
struct RowGradients {
  // Of the log-prob, and of the entropy; undefined where there is none.
  at::Tensor logprob, entropy;
  // log Σ exp of the row, and its entropy.
  at::Tensor normalizers, entropies;
};

// Puts the gradient of the logits in their place.
void gradientRows(const at::Tensor& logits, const at::Tensor& targets, const ScoreOptions& options,
                  const RowGradients& of);

}  // namespace grpo

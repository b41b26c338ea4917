#pragma once
#include <ATen/ATen.h>

#include <tuple>

namespace grpo {

// Whether rows of such logits are scored in passes over each row, without a tensor as wide as the vocabulary.
bool rowsServe(const at::Tensor& logits);

// log Σ exp of each row [N, V] of logits over the temperature, the log-prob of its target and its entropy, float32 [N].
std::tuple<at::Tensor, at::Tensor, at::Tensor> scoreRows(const at::Tensor& logits, const at::Tensor& targets,
                                                         double temperature);

// What the gradient of a row's logits is made of, float32 [N] each.
struct RowGradients {
  // Of the log-prob, and of the entropy; undefined where there is none.
  at::Tensor logprob, entropy;
  // log Σ exp of the row, and its entropy.
  at::Tensor normalizers, entropies;
};

// The gradient of the logits, as they are.
at::Tensor gradientRows(const at::Tensor& logits, const at::Tensor& targets, double temperature,
                        const RowGradients& of);

}  // namespace grpo

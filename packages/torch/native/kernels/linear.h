// The product of linear layers, and where our own operators are registered.
#pragma once
#include <ATen/ATen.h>
#include <torch/library.h>

namespace grpo {

// x × weightᵀ + bias, by the faster of MKL and oneDNN; without a gradient
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const c10::optional<at::Tensor>& bias = {});

// Whether products of this type on the CPU are oneDNN's, which compiles them for every shape.
bool compilesEachShape(at::ScalarType type);

void registerLinear(torch::Library& library);
void registerEmbedding(torch::Library& library);
void registerTokenScores(torch::Library& library);
void registerSegmentAttention(torch::Library& library);
void registerLayerParts(torch::Library& library);

}  // namespace grpo

#pragma once
#include <ATen/ATen.h>

#include <functional>
#include <vector>

namespace grpo {

// The type in which numbers of `type` are added up: halves lose too much, and whole numbers are no gradients. Throws
// for those.
at::ScalarType sumType(at::ScalarType type);

// Calls `transfer` with flat tensors in memory of this machine that hold the numbers of `tensors`, in their order, and
// puts what it leaves there back. Small ones travel together: each transfer costs a round trip, whatever its size.
void inBuckets(const std::vector<at::Tensor>& tensors, at::ScalarType (*typeOf)(at::ScalarType),
               const std::function<void(at::Tensor)>& transfer);

}  // namespace grpo

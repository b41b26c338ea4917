#pragma once
#include <cstdint>
#include <memory>

namespace grpo {

// Floats that begin a cache line. Aligned by hand: the C library's own way leaves holes that tensors do not fit into.
struct Scratch {
  static constexpr int64_t LINE = 16;
  const std::unique_ptr<float[]> block;
  float* const data;
  explicit Scratch(int64_t count)
      : block(new float[count + LINE]),
        data(block.get() + (LINE - reinterpret_cast<uintptr_t>(block.get()) / 4 % LINE)) {}
};

}  // namespace grpo

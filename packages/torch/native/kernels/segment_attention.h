// Attention of one family of segments by one key head: what the operator hands to its kernels.
#pragma once
#include <cstdint>
#include <vector>

namespace grpo::segment_attention {

struct Segment {
  int64_t start;
  int64_t length;
};

// A segment, and behind it those that continue it.
using Family = std::vector<Segment>;

// [tokens, heads, width], the numbers of a head side by side.
template <class T>
struct Heads {
  T* data;
  int64_t tokenStride;
  int64_t headStride;
  T* at(int64_t token, int64_t head) const { return data + token * tokenStride + head * headStride; }
};

template <class T>
struct Forward {
  Heads<const T> query, key, value;
  Heads<T> out;
  // log Σ exp of each query's scores.
  Heads<float> normalizers;
  // Query heads a key head, and numbers a head.
  int64_t ratio, width;
  float scale;
};

template <class T>
struct Backward {
  Heads<const T> query, key, value, out, outGradient;
  Heads<const float> normalizers;
  Heads<T> queryGradient, keyGradient, valueGradient;
  int64_t ratio, width;
  float scale;
};

}  // namespace grpo::segment_attention

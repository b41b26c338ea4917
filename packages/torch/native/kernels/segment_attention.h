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

// From `begin` on, before `end`.
struct Range {
  int64_t begin, end;
  bool holds(int64_t i) const { return i >= begin && i < end; }
  bool empty() const { return begin >= end; }
};

// What one task computes of a family by a key head: the outputs, or gradients, of some queries, and the gradients of
// some keys. Queries are counted by their tokens, one segment after another, keys by their positions.
struct Part {
  Range queries, keys;
};

// [tokens, heads, width], the numbers of a head side by side.
template <class T>
struct Heads {
  T* data;
  int64_t tokenStride;
  int64_t headStride;
  T* at(int64_t token, int64_t head) const { return data + token * tokenStride + head * headStride; }
};

// What becomes of the product of a query and a key. A key is seen when 0 ≤ the query's position − its own < window.
struct Scores {
  float scale;
  // At most as many as there are tokens.
  int64_t window;
  // c of c × tanh(score / c), 0 for the score itself.
  float softcap;
};

template <class T>
struct Forward {
  Heads<const T> query, key, value;
  Heads<T> out;
  // log Σ exp of each query's scores.
  Heads<float> normalizers;
  // Query heads a key head, and numbers a head.
  int64_t ratio, width;
  Scores scores;
};

template <class T>
struct Backward {
  Heads<const T> query, key, value, out, outGradient;
  Heads<const float> normalizers;
  Heads<T> queryGradient, keyGradient, valueGradient;
  int64_t ratio, width;
  Scores scores;
};

}  // namespace grpo::segment_attention

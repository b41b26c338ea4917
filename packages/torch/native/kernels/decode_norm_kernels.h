// The norm of a sum, included by each_level.h.

#include "row_norm.h"

template <typename T, typename W>
INLINE void normRow(const Norm& norm, int64_t row) {
  const int64_t width = norm.width;
  const T* x = static_cast<const T*>(norm.x) + row * norm.xStride;
  const T* delta = norm.delta ? static_cast<const T*>(norm.delta) + row * norm.deltaStride : nullptr;
  T *sum = static_cast<T*>(norm.sum) + row * width, *normed = static_cast<T*>(norm.normed) + row * width;
  eachVector(width, [&](int64_t i, int64_t count) INLINED {
    Vector value = loadFirst(x + i, count);
    if (delta) value += loadFirst(delta + i, count) * norm.factor;
    storeFirst(sum + i, value, count);
  });
  // What the sum is once it is stored is what is normed.
  const auto* weight = static_cast<const W*>(norm.weight);
  if (weight) normalizeRow(sum, weight, static_cast<const T*>(norm.bias), normed, width, norm.eps);
}

template <class T>
void normRows(const Norm& norm, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) norm.wide ? normRow<T, float>(norm, row) : normRow<T, T>(norm, row);
}

// The norm of a sum, included by each_level.h.

template <typename T, typename W>
INLINE void normRow(const Norm& norm, int64_t row) {
  const int64_t width = norm.width;
  const T* x = static_cast<const T*>(norm.x) + row * norm.xStride;
  const T* delta = norm.delta ? static_cast<const T*>(norm.delta) + row * norm.deltaStride : nullptr;
  const W* weight = static_cast<const W*>(norm.weight);
  const T* bias = static_cast<const T*>(norm.bias);
  T *sum = static_cast<T*>(norm.sum) + row * width, *normed = static_cast<T*>(norm.normed) + row * width;
  Vector total{}, squares{};
  eachVector(width, [&](int64_t i, int64_t count) INLINED {
    Vector value = loadFirst(x + i, count);
    if (delta) value += loadFirst(delta + i, count) * norm.factor;
    storeFirst(sum + i, value, count);
    // What the sum is once it is stored is what is normed.
    value = loadFirst(sum + i, count);
    total += value;
    squares += value * value;
  });
  if (!weight) return;
  const float mean = bias ? sumOf(total) / width : 0;
  if (bias) {
    squares = Vector{};
    eachVector(width, [&](int64_t i, int64_t count) INLINED {
      const Vector off = filled(loadFirst(sum + i, count) - mean, count, 0);
      squares += off * off;
    });
  }
  const float scale = 1 / std::sqrt(sumOf(squares) / width + norm.eps);
  eachVector(width, [&](int64_t i, int64_t count) INLINED {
    Vector value = (loadFirst(sum + i, count) - mean) * scale * loadFirst(weight + i, count);
    if (bias) value += loadFirst(bias + i, count);
    storeFirst(normed + i, value, count);
  });
}

template <class T>
void normRows(const Norm& norm, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) norm.wide ? normRow<T, float>(norm, row) : normRow<T, T>(norm, row);
}

// A row less its mean and by its spread. Without a guard: included behind vector.h.

struct Spread {
  // Of an RMS norm 0.
  float mean;
  // 1 / √(mean (x − mean)² + ε)
  float scale;
};

// y = (x − mean) × scale × weight + bias: a layer norm, or without a bias an RMS norm.
template <typename T, typename W, typename B>
INLINE Spread normalizeRow(const T* x, const W* weight, const B* bias, T* y, int64_t width, float eps) {
  float mean = 0;
  if (bias) {
    Vector total{};
    eachVector(width, [&](int64_t i, int64_t count) INLINED { total += loadFirst(x + i, count); });
    mean = sumOf(total) / width;
  }
  Vector squares{}, rest{};
  eachVector(width, [&](int64_t i, int64_t count) INLINED {
    const Vector off = filled(loadFirst(x + i, count) - mean, 0, count, 0);
    squares += off * off;
    rest += off;
  });
  float square = sumOf(squares) / width;
  if (bias) {
    // What rounding left of the mean.
    const float left = sumOf(rest) / width;
    mean += left;
    square -= left * left;
  }
  const float scale = 1 / std::sqrt(square + eps);
  eachVector(width, [&](int64_t i, int64_t count) INLINED {
    Vector value = (loadFirst(x + i, count) - mean) * scale * loadFirst(weight + i, count);
    if (bias) value += loadFirst(bias + i, count);
    storeFirst(y + i, value, count);
  });
  return {mean, scale};
}

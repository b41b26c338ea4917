// What lies between the products of a layer, and its gradients, included by each_level.h.

#include "row_norm.h"

template <typename T, typename W>
void normalize(const RowNorm& job, int64_t begin, int64_t end) {
  const auto *weight = static_cast<const W*>(job.weight), *bias = static_cast<const W*>(job.bias);
  for (int64_t row = begin; row < end; ++row) {
    const int64_t at = row * job.width;
    const auto [mean, scale] = normalizeRow(static_cast<const T*>(job.x) + at, weight, bias,
                                            static_cast<T*>(job.out) + at, job.width, job.eps);
    job.scales[row] = scale;
    if (job.means) job.means[row] = mean;
  }
}

// dx = scale × (h − mean(h) − (x − mean) × scale² × mean(h × (x − mean))) where h = dy × weight, of rows. An RMS norm
// takes neither mean off.
template <typename T, typename W>
void normalizeBackward(const RowNorm& job, int64_t begin, int64_t end) {
  const auto* weight = static_cast<const W*>(job.weight);
  for (int64_t row = begin; row < end; ++row) {
    const T* x = static_cast<const T*>(job.x) + row * job.width;
    const T* dy = static_cast<const T*>(job.gradient) + row * job.width;
    T* dx = static_cast<T*>(job.out) + row * job.width;
    const float mean = job.means ? job.means[row] : 0;
    Vector products{}, total{};
    eachVector(job.width, [&](int64_t i, int64_t count) INLINED {
      const Vector own = loadFirst(dy + i, count) * loadFirst(weight + i, count);
      products += own * (loadFirst(x + i, count) - mean);
      total += own;
    });
    const float scale = job.scales[row], share = scale * scale * sumOf(products) / job.width;
    const float level = job.means ? sumOf(total) / job.width : 0;
    eachVector(job.width, [&](int64_t i, int64_t count) INLINED {
      const Vector own = loadFirst(dy + i, count) * loadFirst(weight + i, count);
      storeFirst(dx + i, scale * (own - level - share * (loadFirst(x + i, count) - mean)), count);
    });
  }
}

// dweight = Σ dy × (x − mean) × scale and dbias = Σ dy over rows, of columns: one thread owns a column, so that sums do
// not depend on their number.
template <typename T, typename W>
void factorGradients(const RowNorm& job, int64_t begin, int64_t end) {
  // Sums of sums round less than one long sum.
  constexpr int64_t SOME = 32;
  auto *weight = static_cast<W*>(job.weightGradient), *bias = static_cast<W*>(job.biasGradient);
  for (int64_t column = begin; column < end; column += LANES) {
    const int64_t count = std::min<int64_t>(LANES, end - column);
    Vector weights{}, biases{};
    for (int64_t first = 0; first < job.rows; first += SOME) {
      Vector products{}, slopes{};
      for (int64_t row = first; row < std::min(job.rows, first + SOME); ++row) {
        const int64_t at = row * job.width + column;
        const Vector dy = loadFirst(static_cast<const T*>(job.gradient) + at, count);
        const float mean = job.means ? job.means[row] : 0;
        products += dy * (loadFirst(static_cast<const T*>(job.x) + at, count) - mean) * job.scales[row];
        slopes += dy;
      }
      weights += products;
      biases += slopes;
    }
    if (weight) storeFirst(weight + column, weights, count);
    if (bias) storeFirst(bias + column, biases, count);
  }
}

// Turns the pairs (i, i + pairs) of each head; the rest of a head is copied.
template <typename T>
void turn(const Turn& job, int64_t begin, int64_t end) {
  const int64_t pairs = job.pairs;
  for (int64_t row = begin; row < end; ++row) {
    const T *cos = static_cast<const T*>(job.cos) + row * pairs, *sin = static_cast<const T*>(job.sin) + row * pairs;
    for (int64_t head = 0; head < job.heads; ++head) {
      const T* x = static_cast<const T*>(job.x) + row * job.rowStride + head * job.headStride;
      T* y = static_cast<T*>(job.out) + (row * job.heads + head) * job.width;
      eachVector(pairs, [&](int64_t i, int64_t count) INLINED {
        const Vector a = loadFirst(x + i, count), b = loadFirst(x + pairs + i, count);
        const Vector c = loadFirst(cos + i, count), s = loadFirst(sin + i, count) * job.sign;
        storeFirst(y + i, a * c - b * s, count);
        storeFirst(y + pairs + i, b * c + a * s, count);
      });
      std::copy(x + 2 * pairs, x + job.width, y + 2 * pairs);
    }
  }
}

// The activation's factor of x, a sigmoid: of x itself, or of 2 √(2/π) (x + 0.044715 x³), which makes it tanh's GELU.
INLINE Vector factorOf(Vector x, bool gelu) {
  const Vector inner = gelu ? 1.5957691216f * (x + 0.044715f * x * x * x) : x;
  return 1.f / (1.f + exponential(-inner));
}

template <typename T>
void activate(const Activation& job, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const T* gate = static_cast<const T*>(job.gate) + row * job.gateStride;
    const T* up = job.up ? static_cast<const T*>(job.up) + row * job.upStride : nullptr;
    T* out = static_cast<T*>(job.out) + row * job.width;
    eachVector(job.width, [&](int64_t i, int64_t count) INLINED {
      const Vector x = loadFirst(gate + i, count);
      Vector y = x * factorOf(x, job.gelu);
      if (up) y *= loadFirst(up + i, count);
      storeFirst(out + i, y, count);
    });
  }
}

// From dy those of gate and up.
template <typename T>
void activateBackward(const Activation& job, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    const T* gate = static_cast<const T*>(job.gate) + row * job.gateStride;
    const T* up = job.up ? static_cast<const T*>(job.up) + row * job.upStride : nullptr;
    const T* dy = static_cast<const T*>(job.gradient) + row * job.width;
    T *dgate = static_cast<T*>(job.out) + row * job.width,
      *dup = job.up ? static_cast<T*>(job.upGradient) + row * job.width : nullptr;
    eachVector(job.width, [&](int64_t i, int64_t count) INLINED {
      const Vector x = loadFirst(gate + i, count), y = loadFirst(dy + i, count), s = factorOf(x, job.gelu);
      // Where the factor is 0 or 1 its slope is 0; a limit keeps x² finite.
      const Vector near = x > 1e9f ? broadcast(1e9f) : x < -1e9f ? broadcast(-1e9f) : x;
      const Vector inner = job.gelu ? 1.5957691216f * (1.f + 0.134145f * near * near) : broadcast(1);
      const Vector slope = s + near * s * (1.f - s) * inner;
      if (up) storeFirst(dup + i, y * x * s, count);
      storeFirst(dgate + i, up ? y * loadFirst(up + i, count) * slope : y * slope, count);
    });
  }
}

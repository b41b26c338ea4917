// Products of a few rows with a weight that does not fit into a cache. oneDNN reads such a weight and multiplies by it in
// turns; here sixteen outputs lie side by side, input after input, and are multiplied as they are read.
#include "narrow_linear.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "simd.h"

namespace grpo {
namespace {

// Rows whose sums stay in registers.
constexpr int64_t kRows = 16;

struct Product {
  // Inputs, rows side by side: [inputs, kRows]; panels [outputs / 16, inputs, 16].
  const float *x, *panels, *bias;
  float* out;
  int64_t rows, inputs, outputs;
};

GRPO_CLONES void multiplyPanels(const Product& job, int64_t begin, int64_t end) {
  for (int64_t panel = begin; panel < end; ++panel) {
    const int64_t first = panel * LANES, count = std::min(LANES, job.outputs - first);
    const float* weights = job.panels + panel * job.inputs * LANES;
    Floats sums[kRows];
    const Floats bias = job.bias ? loadUpTo(job.bias + first, count) : Floats{};
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) sums[r] = bias;
    for (int64_t i = 0; i < job.inputs; ++i) {
      const Floats weight = load(weights + i * LANES);
      // A page ahead, since panels are read once.
      __builtin_prefetch(weights + (i + 64) * LANES);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) sums[r] += weight * job.x[i * kRows + r];
    }
    for (int64_t r = 0; r < job.rows; ++r) storeUpTo(job.out + r * job.outputs + first, sums[r], count);
  }
}

}  // namespace

bool narrowServes(const at::Tensor& weight, int64_t rows) {
#if defined(__x86_64__)
  // Sixteen sums of sixteen floats take the registers of AVX-512.
  return rows <= kRows && weight.scalar_type() == at::kFloat && weight.device().is_cpu() && __builtin_cpu_supports("avx512f");
#else
  return false;
#endif
}

at::Tensor packPanels(const at::Tensor& weight) {
  const int64_t outputs = weight.size(0), panels = (outputs + LANES - 1) / LANES;
  const auto whole = panels * LANES == outputs ? weight : at::constant_pad_nd(weight, {0, 0, 0, panels * LANES - outputs});
  return whole.view({panels, LANES, weight.size(1)}).transpose(1, 2).contiguous();
}

at::Tensor narrowLinear(const at::Tensor& x, const at::Tensor& panels, int64_t outputs, const c10::optional<at::Tensor>& bias) {
  const int64_t rows = x.size(0), inputs = x.size(1);
  auto out = at::empty({rows, outputs}, x.options());
  for (int64_t first = 0; first < rows; first += kRows) {
    const int64_t count = std::min(kRows, rows - first);
    auto side = at::zeros({inputs, kRows}, x.options());
    side.narrow(1, 0, count).copy_(x.narrow(0, first, count).t());
    const Product job{side.data_ptr<float>(), panels.data_ptr<float>(), bias && bias->defined() ? bias->data_ptr<float>() : nullptr,
                      out.data_ptr<float>() + first * outputs, count, inputs, outputs};
    at::parallel_for(0, panels.size(0), 4, [&](int64_t begin, int64_t end) { multiplyPanels(job, begin, end); });
  }
  return out;
}

}  // namespace grpo

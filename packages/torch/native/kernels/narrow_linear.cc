// Products of a few rows with a weight that does not fit into a cache. oneDNN reads such a weight and multiplies by it in
// turns; here sixteen outputs lie side by side, input after input, and are multiplied as they are read.
#include "narrow_linear.h"

#include <ATen/Parallel.h>

#include <algorithm>

#include "simd.h"

#if defined(__x86_64__) && defined(__GNUC__) && (defined(__clang__) || __GNUC__ >= 11)
#define GRPO_BFLOAT16_PRODUCTS
#include <immintrin.h>
#endif

namespace grpo {
namespace {

// Rows whose sums stay in registers.
constexpr int64_t kRows = 16;

// Inputs that one instruction multiplies: bfloat16 comes in pairs.
int64_t widthOf(at::ScalarType type) { return type == at::kBFloat16 ? 2 : 1; }

template <typename T>
struct Product {
  // Inputs, `width` at a time, rows side by side: [steps, kRows, width]; panels [outputs / 16, steps, 16, width].
  const T *x, *panels, *bias;
  T* out;
  int64_t rows, steps, outputs;

  GRPO_INLINE void begin(int64_t first, Floats* sums) const {
    const Floats from = bias ? loadUpTo(bias + first, std::min(LANES, outputs - first)) : Floats{};
    for (int64_t r = 0; r < kRows; ++r) sums[r] = from;
  }

  GRPO_INLINE void end(int64_t first, const Floats* sums) const {
    for (int64_t r = 0; r < rows; ++r) storeUpTo(out + r * outputs + first, sums[r], std::min(LANES, outputs - first));
  }
};

// Lines of a panel that are fetched ahead: two pages, since panels are read once.
constexpr int64_t kAhead = 128;

GRPO_CLONES void multiply(const Product<float>& job, int64_t begin, int64_t end) {
  for (int64_t panel = begin; panel < end; ++panel) {
    const float* weights = job.panels + panel * job.steps * LANES;
    Floats sums[kRows];
    job.begin(panel * LANES, sums);
    for (int64_t i = 0; i < job.steps; ++i) {
      const Floats weight = load(weights + i * LANES);
      __builtin_prefetch(weights + (i + kAhead) * LANES);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) sums[r] += weight * job.x[i * kRows + r];
    }
    job.end(panel * LANES, sums);
  }
}

#ifdef GRPO_BFLOAT16_PRODUCTS
__attribute__((target("avx512f,avx512bw,avx512vl,avx512bf16"))) void multiply(const Product<c10::BFloat16>& job, int64_t begin, int64_t end) {
  const auto* x = reinterpret_cast<const int32_t*>(job.x);
  for (int64_t panel = begin; panel < end; ++panel) {
    const auto* weights = reinterpret_cast<const int32_t*>(job.panels) + panel * job.steps * LANES;
    Floats sums[kRows];
    job.begin(panel * LANES, sums);
    for (int64_t i = 0; i < job.steps; ++i) {
      const auto weight = (__m512bh)_mm512_loadu_si512(weights + i * LANES);
      __builtin_prefetch(weights + (i + kAhead) * LANES);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r)
        sums[r] = (Floats)_mm512_dpbf16_ps((__m512)sums[r], weight, (__m512bh)_mm512_set1_epi32(x[i * kRows + r]));
    }
    job.end(panel * LANES, sums);
  }
}
#endif

// Sixteen rows of units of four bytes, a float or two bfloat16, as a panel.
void packPanel(const uint32_t* rows, int64_t steps, uint32_t* panel) {
  for (int64_t first = 0; first < steps; first += LANES)
    for (int64_t row = 0; row < LANES; ++row)
      for (int64_t i = first; i < std::min(steps, first + LANES); ++i) panel[i * LANES + row] = rows[row * steps + i];
}

template <typename T>
void multiplyAll(const at::Tensor& x, const at::Tensor& panels, const c10::optional<at::Tensor>& bias, at::Tensor& out) {
  const int64_t width = panels.size(3), steps = panels.size(1), outputs = out.size(1);
  for (int64_t first = 0; first < x.size(0); first += kRows) {
    const int64_t count = std::min(kRows, x.size(0) - first);
    const auto rows = at::constant_pad_nd(x.narrow(0, first, count), {0, steps * width - x.size(1), 0, kRows - count});
    const auto side = rows.view({kRows, steps, width}).transpose(0, 1).contiguous();
    const Product<T> job{side.template data_ptr<T>(), panels.data_ptr<T>(), bias && bias->defined() ? bias->data_ptr<T>() : nullptr,
                         out.data_ptr<T>() + first * outputs, count, steps, outputs};
    at::parallel_for(0, panels.size(0), 4, [&](int64_t begin, int64_t end) { multiply(job, begin, end); });
  }
}

}  // namespace

bool narrowServes(const at::Tensor& weight, int64_t rows) {
  if (rows > kRows || !weight.device().is_cpu()) return false;
#ifdef GRPO_BFLOAT16_PRODUCTS
  if (weight.scalar_type() == at::kBFloat16) return __builtin_cpu_supports("avx512bf16");
#endif
#if defined(__x86_64__)
  // Sixteen sums of sixteen floats take the registers of AVX-512.
  return weight.scalar_type() == at::kFloat && __builtin_cpu_supports("avx512f");
#else
  return false;
#endif
}

at::Tensor packPanels(const at::Tensor& weight) {
  const int64_t width = widthOf(weight.scalar_type());
  const int64_t panels = (weight.size(0) + LANES - 1) / LANES, steps = (weight.size(1) + width - 1) / width;
  const int64_t outputs = weight.size(0), whole = outputs / LANES, missing = steps * width - weight.size(1);
  const auto rows = missing > 0 ? at::constant_pad_nd(weight, {0, missing}) : weight.contiguous();
  auto packed = at::empty({panels, steps, LANES, width}, weight.options());
  const auto pack = [&](const at::Tensor& from, int64_t row, int64_t panel) {
    packPanel(static_cast<const uint32_t*>(from.data_ptr()) + row * steps, steps, static_cast<uint32_t*>(packed.data_ptr()) + panel * LANES * steps);
  };
  at::parallel_for(0, whole, 8, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) pack(rows, panel * LANES, panel);
  });
  if (whole < panels) pack(at::constant_pad_nd(rows.narrow(0, whole * LANES, outputs - whole * LANES), {0, 0, 0, panels * LANES - outputs}), 0, whole);
  return packed;
}

at::Tensor narrowLinear(const at::Tensor& x, const at::Tensor& panels, int64_t outputs, const c10::optional<at::Tensor>& bias) {
  const int64_t width = widthOf(panels.scalar_type());
  const bool known = panels.scalar_type() == at::kFloat || narrowServes(panels, 1);
  TORCH_CHECK(known && panels.device().is_cpu() && panels.is_contiguous() && panels.dim() == 4 && panels.size(2) == LANES && panels.size(3) == width, "the weight must be packed by pack_linear, found ", panels.scalar_type(), " ", panels.sizes());
  const int64_t steps = panels.size(1);
  TORCH_CHECK(x.dim() == 2 && x.scalar_type() == panels.scalar_type() && x.device().is_cpu() && x.size(1) <= steps * width && x.size(1) > (steps - 1) * width, "input must be ", panels.scalar_type(), " [N, ", steps * width, "] on the CPU, found ", x.scalar_type(), " ", x.sizes());
  TORCH_CHECK(outputs > LANES * (panels.size(0) - 1) && outputs <= LANES * panels.size(0), "the packed weight has not ", outputs, " outputs");
  TORCH_CHECK(!bias || !bias->defined() || (bias->scalar_type() == panels.scalar_type() && bias->device().is_cpu() && bias->dim() == 1 && bias->size(0) == outputs && bias->is_contiguous()), "bias must be ", panels.scalar_type(), " [", outputs, "]");
  auto out = at::empty({x.size(0), outputs}, x.options());
#ifdef GRPO_BFLOAT16_PRODUCTS
  if (width == 2) {
    multiplyAll<c10::BFloat16>(x, panels, bias, out);
    return out;
  }
#endif
  multiplyAll<float>(x, panels, bias, out);
  return out;
}

}  // namespace grpo

// Products of a few rows with a weight that does not fit into a cache. oneDNN reads such a weight and multiplies by it
// in turns; here sixteen outputs lie side by side, input after input, and are multiplied as they are read.
#include "narrow_linear.h"

#include <ATen/Parallel.h>

#include <algorithm>

namespace grpo {
namespace {

constexpr int64_t MOST_ROWS = 16;
// Outputs of a panel.
constexpr int64_t PANEL = 16;

struct Product {
  // Inputs of MOST_ROWS rows, side by side, zeros where a row or an input is missing: float32 [inputs, MOST_ROWS], or
  // pairs of bfloat16 [⌈inputs / 2⌉, MOST_ROWS, 2].
  const void* x;
  const void *panels, *bias;
  void* out;
  int64_t rows, steps, outputs;
};

}  // namespace
}  // namespace grpo

#define KERNELS_MULTIPLY_BFLOAT16
#define KERNELS "narrow_linear_kernels.h"
#include "each_level.h"

namespace grpo {
namespace {

// Inputs that are a step: bfloat16 comes in pairs, which one instruction multiplies where there is one.
int64_t widthOf(at::ScalarType type) { return type == at::kBFloat16 ? 2 : 1; }

bool multipliesPairs() { return level() == Level::avx512_bf16; }

// Sixteen rows of units of four bytes, a float or two bfloat16, as a panel.
void packPanel(const uint32_t* rows, int64_t steps, uint32_t* panel) {
  for (int64_t first = 0; first < steps; first += PANEL)
    for (int64_t row = 0; row < PANEL; ++row)
      for (int64_t i = first; i < std::min(steps, first + PANEL); ++i) panel[i * PANEL + row] = rows[row * steps + i];
}

template <class T>
void multiplyAll(const at::Tensor& x, const at::Tensor& panels, const at::Tensor& bias, at::Tensor& out) {
  const int64_t width = panels.size(3), steps = panels.size(1), outputs = out.size(1);
  const int64_t group = multipliesPairs() ? width : 1;
  for (int64_t first = 0; first < x.size(0); first += MOST_ROWS) {
    const int64_t count = std::min(MOST_ROWS, x.size(0) - first);
    const auto rows =
        at::constant_pad_nd(x.narrow(0, first, count), {0, steps * width - x.size(1), 0, MOST_ROWS - count});
    auto side = rows.view({MOST_ROWS, steps * width / group, group}).transpose(0, 1).contiguous();
    if (group == 1) side = side.to(at::kFloat);
    const Product job{side.data_ptr(),
                      panels.data_ptr(),
                      bias.defined() ? bias.data_ptr() : nullptr,
                      out.data_ptr<T>() + first * outputs,
                      count,
                      steps,
                      outputs};
    at::parallel_for(0, panels.size(0), 4, [&](int64_t begin, int64_t end) { AT_LEVEL(multiply<T>)(job, begin, end); });
  }
}

}  // namespace

bool narrowServes(const at::Tensor& weight, int64_t rows) {
  if (rows > MOST_ROWS || !weight.device().is_cpu() || weight.dim() != 2 || weight.numel() == 0) return false;
  return weight.scalar_type() == at::kFloat || weight.scalar_type() == at::kBFloat16;
}

at::Tensor packPanels(const at::Tensor& weight) {
  const int64_t width = widthOf(weight.scalar_type());
  const int64_t panels = (weight.size(0) + PANEL - 1) / PANEL, steps = (weight.size(1) + width - 1) / width;
  const int64_t outputs = weight.size(0), whole = outputs / PANEL, missing = steps * width - weight.size(1);
  const auto rows = missing > 0 ? at::constant_pad_nd(weight, {0, missing}) : weight.contiguous();
  auto packed = at::empty({panels, steps, PANEL, width}, weight.options());
  const auto pack = [&](const at::Tensor& from, int64_t row, int64_t panel) {
    packPanel(static_cast<const uint32_t*>(from.data_ptr()) + row * steps, steps,
              static_cast<uint32_t*>(packed.data_ptr()) + panel * PANEL * steps);
  };
  at::parallel_for(0, whole, 8, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) pack(rows, panel * PANEL, panel);
  });
  if (whole < panels)
    pack(at::constant_pad_nd(rows.narrow(0, whole * PANEL, outputs - whole * PANEL),
                             {0, 0, 0, panels * PANEL - outputs}),
         0, whole);
  return packed;
}

at::Tensor narrowLinear(const at::Tensor& x, const at::Tensor& panels, int64_t outputs,
                        const c10::optional<at::Tensor>& bias) {
  const int64_t width = widthOf(panels.scalar_type());
  const bool known = panels.scalar_type() == at::kFloat || panels.scalar_type() == at::kBFloat16;
  TORCH_CHECK(known && panels.device().is_cpu() && panels.is_contiguous() && panels.dim() == 4 &&
                  panels.size(2) == PANEL && panels.size(3) == width,
              "the weight must be packed by pack_linear, found ", panels.scalar_type(), " ", panels.sizes());
  const int64_t steps = panels.size(1);
  TORCH_CHECK(x.dim() == 2 && x.scalar_type() == panels.scalar_type() && x.device().is_cpu() &&
                  x.size(1) <= steps * width && x.size(1) > (steps - 1) * width,
              "input must be ", panels.scalar_type(), " [N, ", steps * width, "] on the CPU, found ", x.scalar_type(),
              " ", x.sizes());
  TORCH_CHECK(outputs > PANEL * (panels.size(0) - 1) && outputs <= PANEL * panels.size(0), "the packed weight has not ",
              outputs, " outputs");
  TORCH_CHECK(!bias || !bias->defined() ||
                  (bias->scalar_type() == panels.scalar_type() && bias->device().is_cpu() && bias->dim() == 1 &&
                   bias->size(0) == outputs && bias->is_contiguous()),
              "bias must be ", panels.scalar_type(), " [", outputs, "]");
  auto out = at::empty({x.size(0), outputs}, x.options());
  const auto shift = bias ? *bias : at::Tensor();
  width == 2 ? multiplyAll<at::BFloat16>(x, panels, shift, out) : multiplyAll<float>(x, panels, shift, out);
  return out;
}

}  // namespace grpo

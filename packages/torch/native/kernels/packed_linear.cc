// Products with a weight that many products share: those of decoding. MKL and oneDNN read a weight of few rows'
// products and multiply by it in turns; here sixteen outputs lie side by side, input after input, in the order in which
// they are multiplied, so that the memory is read ahead.
#include "packed_linear.h"

#include <ATen/Parallel.h>

#include <memory>

#include "stages.h"

namespace grpo {
namespace {

// Outputs of a panel, and rows of an input that lie side by side.
constexpr int64_t PANEL = 16;
// Panels that lie side by side, by blocks of so many steps. Two or three are multiplied at once, and a row's results
// are written by groups: longer runs cost the memory less.
constexpr int64_t GROUP = 12;
constexpr int64_t STEPS = 128;
// Sums of a row: those of a group.
constexpr int64_t SUMS = GROUP * PANEL;
// Rows of an input that are multiplied before a group's weights are read again: their sums stay in the nearer caches.
constexpr int64_t MOST_ROWS = 256;

// Rows of numbers of two or four bytes, as they lie in a tensor: a row's numbers side by side, or the rows' (stride 1).
struct Rows {
  const void* data;
  int64_t count, inputs, stride, step, bytes;
};

// A step of a panel is sixteen floats or sixteen pairs of bfloat16, 64 bytes in either case.
struct Panels {
  float* data;
  int64_t count, steps;
  int64_t blockSteps(int64_t from) const { return std::min(STEPS, steps - from); }
  float* at(int64_t panel, int64_t from) const {
    const int64_t group = panel / GROUP * GROUP, size = std::min(GROUP, count - group);
    return data + (group * steps + size * from + (panel - group) * blockSteps(from)) * PANEL;
  }
};

struct Product {
  const void* x;
  Panels panels;
  const void* bias;
  void* out;
  int64_t rows, outputs, stride;
};

// Floats that begin a cache line. Aligned by hand: the C library's own way leaves holes that tensors do not fit into.
struct Scratch {
  static constexpr int64_t LINE = 16;
  const std::unique_ptr<float[]> block;
  float* const data;
  explicit Scratch(int64_t count)
      : block(new float[count + LINE]), data(block.get() + (LINE - reinterpret_cast<uintptr_t>(block.get()) / 4 % LINE)) {}
};

}  // namespace
}  // namespace grpo

#define KERNELS_MULTIPLY_BFLOAT16
#define KERNELS "packed_linear_kernels.h"
#include "each_level.h"

namespace grpo {
namespace {

Rows rowsOf(const at::Tensor& tensor) {
  return {tensor.data_ptr(),        tensor.size(0),   tensor.size(1),
          tensor.stride(0),         tensor.stride(1), int64_t(tensor.element_size())};
}

Panels panelsOf(const at::Tensor& packed) {
  return {static_cast<float*>(packed.data_ptr()), packed.size(0), packed.size(1)};
}

int64_t widthOf(at::ScalarType type) { return type == at::kBFloat16 ? 2 : 1; }

int64_t roundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Steps of a weight's panels. A tile takes sixteen pairs at a time.
int64_t stepsOf(const at::Tensor& weight) {
  return widthOf(weight.scalar_type()) == 2 ? roundUp((weight.size(1) + 1) / 2, PANEL) : weight.size(1);
}

at::Tensor emptyPanels(int64_t count, int64_t steps, const at::TensorOptions& options) {
  return at::empty({count, steps, PANEL, widthOf(c10::typeMetaToScalarType(options.dtype()))}, options);
}

// Multiplications that are worth a thread's waking.
constexpr int64_t WORK = 1 << 18;

int64_t packGrain(int64_t steps) { return std::max<int64_t>(1, WORK / 8 / (steps * PANEL)); }

// An input as it is multiplied: blocks of sixteen of its `count` rows, of so many numbers.
struct Arranged {
  std::shared_ptr<Scratch> numbers;
  int64_t row, count;
};

template <class T>
Arranged addArranging(const at::Tensor& x, int64_t steps) {
  const int64_t count = x.size(0), blocks = (count + PANEL - 1) / PANEL, row = steps * AT_LEVEL(numbersOf<T>)();
  const auto arranged = std::make_shared<Scratch>(blocks * PANEL * row);
  // The level is chosen now, not when the stage runs: the size of a row depends on it.
  const auto arrangeBlocks = AT_LEVEL(arrange<T>);
  addStage({blocks, std::max<int64_t>(1, WORK / 8 / (row * PANEL)),
            [=](int64_t begin, int64_t end) { arrangeBlocks(rowsOf(x), steps, arranged->data, begin, end); }},
           blocks * PANEL * row * 4);
  return {arranged, row, count};
}

// Results lie side by side in a row of `out`.
template <class T>
void addMultiplying(const Arranged& x, const at::Tensor& packed, const at::Tensor& bias, const at::Tensor& out) {
  const auto multiplyRows = AT_LEVEL(multiply<T>);
  addStage({packed.size(0), std::max<int64_t>(1, WORK / (x.count * packed.size(1) * PANEL)),
            [=](int64_t begin, int64_t end) {
              const int64_t stride = out.stride(0);
              for (int64_t first = 0; first < x.count; first += MOST_ROWS) {
                const Product job{x.numbers->data + first * x.row,
                                  panelsOf(packed),
                                  bias.defined() ? bias.data_ptr() : nullptr,
                                  out.data_ptr<T>() + first * stride,
                                  std::min(MOST_ROWS, x.count - first),
                                  out.size(1),
                                  stride};
                multiplyRows(job, begin, end);
              }
            }},
           out.nbytes());
}

template <class T>
void multiplyAll(const at::Tensor& x, const at::Tensor& packed, const at::Tensor& bias, const at::Tensor& out) {
  addMultiplying<T>(addArranging<T>(x, packed.size(1)), packed, bias, out);
}

// Bytes of a weight that is laid out for one product only: a part, which a cache holds, is multiplied before the next is
// laid out.
constexpr int64_t PART = 1 << 22;

at::Tensor readable(const at::Tensor& rows) {
  return rows.stride(1) == 1 || rows.stride(0) == 1 ? rows : rows.contiguous();
}

}  // namespace

bool panelsServe(const at::Tensor& weight) {
  const bool known = weight.scalar_type() == at::kFloat || weight.scalar_type() == at::kBFloat16;
  return known && weight.device().is_cpu() && weight.layout() == at::kStrided && weight.dim() == 2 &&
         weight.numel() > 0;
}

at::Tensor packPanels(const at::Tensor& weight) {
  const auto rows = readable(weight);
  const auto packed = emptyPanels((weight.size(0) + PANEL - 1) / PANEL, stepsOf(weight), weight.options());
  at::parallel_for(0, packed.size(0), packGrain(packed.size(1)),
                   [&](int64_t begin, int64_t end) { AT_LEVEL(pack)(rowsOf(rows), panelsOf(packed), begin, end); });
  return packed;
}

at::Tensor multiplyOnce(const at::Tensor& x, const at::Tensor& weight, const c10::optional<at::Tensor>& bias) {
  using T = at::BFloat16;
  const int64_t steps = stepsOf(weight), all = (weight.size(0) + PANEL - 1) / PANEL;
  // Whole groups for each thread: the inputs are read again for each.
  const int64_t most = std::min(all, roundUp(PART / (steps * PANEL * 4) + 1, GROUP * at::get_num_threads()));
  const auto panels = emptyPanels(most, steps, weight.options());
  auto out = at::empty({x.size(0), weight.size(0)}, x.options());
  // Tiles read whole rows.
  const auto arranged = addArranging<T>(level() == Level::amx ? x.contiguous() : readable(x), steps);
  const auto packRows = AT_LEVEL(pack);
  const auto rows = readable(weight);
  for (int64_t first = 0; first < all; first += most) {
    const int64_t from = first * PANEL, outputs = std::min(most * PANEL, weight.size(0) - from);
    const auto part = panels.narrow(0, 0, std::min(most, all - first)), some = rows.narrow(0, from, outputs);
    addStage({part.size(0), packGrain(steps),
              [=](int64_t begin, int64_t end) { packRows(rowsOf(some), panelsOf(part), begin, end); }},
             part.nbytes());
    addMultiplying<T>(arranged, part, bias && bias->defined() ? bias->narrow(0, from, outputs) : at::Tensor(),
                      out.narrow(1, from, outputs));
  }
  performStages();
  return out;
}

at::Tensor multiplyPanels(const at::Tensor& x, const at::Tensor& packed, int64_t outputs,
                          const c10::optional<at::Tensor>& bias) {
  const auto type = packed.scalar_type();
  const int64_t width = widthOf(type);
  TORCH_CHECK((type == at::kFloat || type == at::kBFloat16) && packed.device().is_cpu() && packed.is_contiguous() &&
                  packed.dim() == 4 && packed.size(2) == PANEL && packed.size(3) == width &&
                  (width == 1 || packed.size(1) % PANEL == 0),
              "the weight must be packed by pack_linear, found ", type, " ", packed.sizes());
  const int64_t inputs = packed.size(1) * width;
  TORCH_CHECK(x.dim() == 2 && x.scalar_type() == type && x.device().is_cpu() && x.layout() == at::kStrided &&
                  x.size(1) <= inputs && x.size(1) > (width == 1 ? inputs - 1 : inputs - width * PANEL),
              "input must be ", type, " [N, ", inputs, "] on the CPU, found ", x.scalar_type(), " ", x.sizes());
  TORCH_CHECK(outputs > PANEL * (packed.size(0) - 1) && outputs <= PANEL * packed.size(0), "the packed weight has not ",
              outputs, " outputs");
  const auto shift = bias ? *bias : at::Tensor();
  TORCH_CHECK(!shift.defined() || (shift.scalar_type() == type && shift.device().is_cpu() && shift.dim() == 1 &&
                                   shift.size(0) == outputs && shift.is_contiguous()),
              "bias must be ", type, " [", outputs, "]");
  if (x.stride(1) != 1) performStages();
  const auto rows = x.stride(1) == 1 ? x : x.contiguous();
  auto out = at::empty({x.size(0), outputs}, x.options());
  if (x.size(0) == 0) return out;
  width == 2 ? multiplyAll<at::BFloat16>(rows, packed, shift, out) : multiplyAll<float>(rows, packed, shift, out);
  return out;
}

}  // namespace grpo

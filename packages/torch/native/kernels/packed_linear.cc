// Products with a weight that many products share: those of decoding. MKL and oneDNN read a weight of few rows'
// products and multiply by it in turns; here sixteen outputs lie side by side, input after input, in the order in which
// they are multiplied, so that the memory is read ahead.
#include "packed_linear.h"

#include <ATen/Parallel.h>

#include <memory>

#include "scratch.h"
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
// Numbers of sixteen rows of an input that are arranged at once.
constexpr int64_t PIECE = 128;

int64_t roundUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Rows of numbers of two or four bytes, as they lie in a tensor: a row's numbers side by side, or the rows' (stride 1).
struct Rows {
  const void* data;
  int64_t count, inputs, stride, step, bytes;
};

// A step of a panel is sixteen floats or sixteen pairs of bfloat16, 64 bytes in either case.
struct Panels {
  float* data;
  int64_t count, steps;
  // How many steps the block has that contains `step`.
  int64_t blockSteps(int64_t step) const { return std::min(STEPS, steps - step / STEPS * STEPS); }
  float* at(int64_t panel, int64_t step) const {
    const int64_t group = panel / GROUP * GROUP, size = std::min(GROUP, count - group), from = step / STEPS * STEPS;
    return data + (group * steps + size * from + (panel - group) * blockSteps(step) + step - from) * PANEL;
  }
};

struct Product {
  // Arranged in bfloat16; in float32 as the rows lie, so far apart.
  const void* x;
  int64_t xStride;
  Panels panels;
  const void* bias;
  void* out;
  int64_t rows, outputs, stride;
  // Adds the results to the float32 numbers in `out`.
  bool adds;
};

}  // namespace
}  // namespace grpo

#define KERNELS_MULTIPLY_BFLOAT16
#define KERNELS "packed_linear_kernels.h"
#include "each_level.h"

namespace grpo {
namespace {

Rows rowsOf(const at::Tensor& tensor) {
  return {tensor.data_ptr(), tensor.size(0),   tensor.size(1),
          tensor.stride(0),  tensor.stride(1), int64_t(tensor.element_size())};
}

Panels panelsOf(const at::Tensor& packed) {
  return {static_cast<float*>(packed.data_ptr()), packed.size(0), packed.size(1)};
}

int64_t widthOf(at::ScalarType type) { return type == at::kBFloat16 ? 2 : 1; }

// Steps of a weight's panels. A tile takes sixteen pairs at a time.
int64_t stepsOf(const at::Tensor& weight) {
  return widthOf(weight.scalar_type()) == 2 ? roundUp((weight.size(1) + 1) / 2, PANEL) : weight.size(1);
}

int64_t panelsFor(int64_t outputs) { return (outputs + PANEL - 1) / PANEL; }

// Multiplications that are worth a thread's waking.
constexpr int64_t WORK = 1 << 18;

int64_t packGrain(int64_t steps) { return std::max<int64_t>(1, WORK / 8 / (steps * PANEL)); }

// An input as it is multiplied: `count` rows, arranged in blocks of sixteen or as they lie, `row` numbers apart.
struct Input {
  std::shared_ptr<Scratch> arranged;
  at::Tensor rows;
  int64_t count, row;

  const float* from(int64_t first) const {
    return (arranged ? arranged->data : static_cast<const float*>(rows.data_ptr())) + first * row;
  }
};

std::shared_ptr<Scratch> spaceFor(int64_t rows, int64_t steps) {
  return std::make_shared<Scratch>(roundUp(rows, PANEL) * steps * AT_LEVEL(numbersOfHalves)());
}

Input addArranging(const at::Tensor& x, int64_t steps, const std::shared_ptr<Scratch>& space) {
  const int64_t count = x.size(0), blocks = panelsFor(count), row = steps * AT_LEVEL(numbersOfHalves)();
  const int64_t pieces = (row + PIECE - 1) / PIECE;
  // The level is chosen now, not when the stage runs: the size of a row depends on it.
  const auto arrangePieces = AT_LEVEL(arrange);
  addStage({blocks * pieces, std::max<int64_t>(1, WORK / 8 / (std::min(PIECE, row) * PANEL)),
            [=](int64_t begin, int64_t end) { arrangePieces(rowsOf(x), steps, space->data, begin, end); }},
           blocks * PANEL * row * 4);
  return {space, {}, count, row};
}

// Writes the results of a row side by side, or adds them where `out` is float32 and the weight is not.
template <class T>
void addMultiplying(const Input& x, const at::Tensor& packed, const at::Tensor& bias, const at::Tensor& out) {
  const auto multiplyRows = AT_LEVEL(multiply<T>);
  addStage({packed.size(0), std::max<int64_t>(1, WORK / (x.count * packed.size(1) * PANEL)),
            [=](int64_t begin, int64_t end) {
              const int64_t stride = out.stride(0);
              for (int64_t first = 0; first < x.count; first += MOST_ROWS) {
                const Product job{x.from(first),
                                  x.row,
                                  panelsOf(packed),
                                  bias.defined() ? bias.data_ptr() : nullptr,
                                  static_cast<char*>(out.data_ptr()) + first * stride * out.element_size(),
                                  std::min(MOST_ROWS, x.count - first),
                                  out.size(1),
                                  stride,
                                  out.scalar_type() != packed.scalar_type()};
                multiplyRows(job, begin, end);
              }
            }},
           out.nbytes());
}

// A weight that serves one product is laid out in parts, and so is x. The largest part has LOT_INPUTS inputs of either,
// LOT numbers of x, and PART bytes of the weight, which a cache holds.
constexpr int64_t LOT_INPUTS = 1 << 11;
constexpr int64_t LOT = 1 << 21;
constexpr int64_t PART = 1 << 22;

// A block of a matrix; it ends where the matrix does.
at::Tensor block(const at::Tensor& from, int64_t row, int64_t rows, int64_t column, int64_t columns) {
  return from.narrow(0, row, std::min(rows, from.size(0) - row))
      .narrow(1, column, std::min(columns, from.size(1) - column));
}

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
  const auto packed =
      at::empty({panelsFor(weight.size(0)), stepsOf(weight), PANEL, widthOf(weight.scalar_type())}, weight.options());
  at::parallel_for(0, packed.size(0), packGrain(packed.size(1)), [&](int64_t begin, int64_t end) {
    AT_LEVEL(pack)(rowsOf(rows), panelsOf(packed), begin, end);
  });
  return packed;
}

at::Tensor multiplyOnce(const at::Tensor& x, const at::Tensor& weight, const c10::optional<at::Tensor>& bias) {
  using T = at::BFloat16;
  const int64_t outputs = weight.size(0), inputs = std::min(x.size(1), LOT_INPUTS);
  const int64_t rows = std::min(x.size(0), std::max(MOST_ROWS, LOT / inputs)),
                steps = stepsOf(weight.narrow(1, 0, inputs));
  // Whole groups for each thread: the inputs are read again for each.
  const int64_t most =
      std::min(panelsFor(outputs), roundUp(PART / (steps * PANEL * 4) + 1, GROUP * at::get_num_threads()));
  const auto panels = at::empty({most * steps * PANEL * 2}, weight.options());
  const auto space = spaceFor(rows, steps);
  const auto shift = bias.value_or(at::Tensor());
  // Several parts of the inputs are added up in float32.
  const bool cut = inputs < x.size(1);
  auto out = at::empty({x.size(0), outputs}, cut ? x.options().dtype(at::kFloat) : x.options());
  if (cut) shift.defined() ? out.copy_(shift.expand_as(out)) : out.zero_();
  const auto readableX = readable(x), weights = readable(weight);
  const auto packRows = AT_LEVEL(pack);
  for (int64_t row = 0; row < x.size(0); row += rows)
    for (int64_t input = 0; input < x.size(1); input += inputs) {
      const int64_t partSteps = stepsOf(block(weights, 0, outputs, input, inputs));
      const auto arranged = addArranging(block(readableX, row, rows, input, inputs), partSteps, space);
      for (int64_t first = 0; first < outputs; first += most * PANEL) {
        const auto from = block(weights, first, most * PANEL, input, inputs);
        const auto part = panels.narrow(0, 0, panelsFor(from.size(0)) * partSteps * PANEL * 2)
                              .view({panelsFor(from.size(0)), partSteps, PANEL, 2});
        addStage({part.size(0), packGrain(partSteps),
                  [=](int64_t begin, int64_t end) { packRows(rowsOf(from), panelsOf(part), begin, end); }},
                 part.nbytes());
        addMultiplying<T>(arranged, part, shift.defined() && !cut ? shift.narrow(0, first, from.size(0)) : at::Tensor(),
                          block(out, row, rows, first, most * PANEL));
      }
    }
  performStages();
  return cut ? out.to(x.scalar_type()) : out;
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
  const int64_t steps = packed.size(1);
  if (width == 2)
    addMultiplying<at::BFloat16>(addArranging(rows, steps, spaceFor(x.size(0), steps)), packed, shift, out);
  else
    addMultiplying<float>({nullptr, rows, x.size(0), rows.stride(0)}, packed, shift, out);
  return out;
}

}  // namespace grpo

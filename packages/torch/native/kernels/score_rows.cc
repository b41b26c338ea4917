// Scores of rows of logits, and their gradient, each in passes over a row that stays in the nearest cache.
#include "score_rows.h"

#include <ATen/Parallel.h>

#include <cmath>
#include <type_traits>

#include "simd.h"

namespace grpo {
namespace {

// Below every logit, and finite: times a probability of 0 it is 0.
constexpr float LEAST = -1e30f;

template <typename T>
struct Scores {
  const T* logits;
  const int64_t* targets;
  float temperature;
  int64_t vocab;
  float *normalizers, *logprobs, *entropies;
};

template <typename T>
struct Gradients {
  const T* logits;
  T* out;
  const int64_t* targets;
  float temperature;
  int64_t vocab;
  // Of log-prob and entropy; null where there is none.
  const float *logprob, *entropy;
  const float *normalizers, *entropies;
};

template <typename T>
GRPO_INLINE Floats scaled(const T* logits, int64_t count, float temperature) {
  Floats x = loadUpTo(logits, count);
  if (temperature != 1) x = x / temperature;
  for (int64_t j = count; j < LANES; ++j) x[j] = LEAST;
  return x;
}

template <typename T>
GRPO_INLINE void runRow(const Scores<T>& job, int64_t row) {
  const T* logits = job.logits + row * job.vocab;
  Floats most = Floats{} + LEAST;
  eachSixteen(job.vocab, [&](int64_t i, int64_t count) GRPO_INLINED { most = maximum(scaled(logits + i, count, job.temperature), most); });
  const float largest = maximumOf(most);
  // Σ e^x and Σ x e^x, with x from the largest logit down.
  Doubles sum{}, moment{};
  eachSixteen(job.vocab, [&](int64_t i, int64_t count) GRPO_INLINED {
    const Floats x = scaled(logits + i, count, job.temperature) - largest, y = expOf(x);
    addTo(sum, y);
    addTo(moment, x * y);
  });
  const double total = sumOf(sum), logSum = std::log(total);
  job.normalizers[row] = float(largest + logSum);
  // Rounded after each step, as libtorch's log softmax is.
  job.logprobs[row] = (float(logits[job.targets[row]]) / job.temperature - largest) - float(logSum);
  job.entropies[row] = float(logSum - sumOf(moment) / total);
}

// With p = softmax(z / t): [g at the token − p g − h p (log p + H)] / t.
template <typename T>
GRPO_INLINE void runRow(const Gradients<T>& job, int64_t row) {
  const T* logits = job.logits + row * job.vocab;
  T* out = job.out + row * job.vocab;
  const float g = job.logprob ? job.logprob[row] : 0, h = job.entropy ? job.entropy[row] : 0;
  const float normalizer = job.normalizers[row], entropy = job.entropies[row];
  const auto gradient = [&](Floats x) GRPO_INLINED {
    const Floats logProbability = x - normalizer, weight = h == 0 ? Floats{} - g : (logProbability + entropy) * -h - g;
    return expOf(logProbability) * weight;
  };
  eachSixteen(job.vocab, [&](int64_t i, int64_t count) GRPO_INLINED {
    const Floats scores = gradient(scaled(logits + i, count, job.temperature));
    storeUpTo(out + i, job.temperature == 1 ? scores : scores / job.temperature, count);
  });
  const int64_t target = job.targets[row];
  const Floats score = gradient(Floats{} + float(logits[target]) / job.temperature) + g;
  out[target] = T(score[0] / job.temperature);
}

GRPO_CLONES void run(const Scores<float>& job, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) runRow(job, row);
}

GRPO_CLONES void run(const Scores<at::BFloat16>& job, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) runRow(job, row);
}

GRPO_CLONES void run(const Gradients<float>& job, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) runRow(job, row);
}

GRPO_CLONES void run(const Gradients<at::BFloat16>& job, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) runRow(job, row);
}

template <typename Job>
void runAll(const at::Tensor& logits, const Job& job) {
  at::parallel_for(0, logits.size(0), 1, [&](int64_t begin, int64_t end) { run(job, begin, end); });
}

// body(first element) for the type of the logits.
template <typename Body>
void withType(const at::Tensor& logits, const Body& body) {
  if (logits.scalar_type() == at::kFloat) body(logits.data_ptr<float>());
  else body(logits.data_ptr<at::BFloat16>());
}

}  // namespace

bool rowsServe(const at::Tensor& logits) {
  const auto type = logits.scalar_type();
  return logits.device().is_cpu() && logits.is_contiguous() && (type == at::kFloat || type == at::kBFloat16);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> scoreRows(const at::Tensor& logits, const at::Tensor& targets, double temperature) {
  for (int64_t row = 0; row < targets.size(0); ++row) {
    const int64_t target = targets.data_ptr<int64_t>()[row];
    TORCH_CHECK(target >= 0 && target < logits.size(1), "target ", row, " is ", target, ", out of bounds: the vocabulary has ", logits.size(1), " tokens");
  }
  const auto options = logits.options().dtype(at::kFloat);
  auto normalizers = at::empty({logits.size(0)}, options), logprobs = at::empty_like(normalizers), entropies = at::empty_like(normalizers);
  withType(logits, [&](auto* rows) {
    runAll(logits, Scores<std::remove_pointer_t<decltype(rows)>>{rows, targets.data_ptr<int64_t>(), float(temperature), logits.size(1), normalizers.data_ptr<float>(), logprobs.data_ptr<float>(), entropies.data_ptr<float>()});
  });
  return {normalizers, logprobs, entropies};
}

at::Tensor gradientRows(const at::Tensor& logits, const at::Tensor& targets, double temperature, const RowGradients& of) {
  auto out = at::empty_like(logits);
  const auto pointer = [](const at::Tensor& values) { return values.defined() ? values.data_ptr<float>() : nullptr; };
  withType(logits, [&](auto* rows) {
    using T = std::remove_pointer_t<decltype(rows)>;
    runAll(logits, Gradients<T>{rows, out.data_ptr<T>(), targets.data_ptr<int64_t>(), float(temperature), logits.size(1), pointer(of.logprob), pointer(of.entropy), pointer(of.normalizers), pointer(of.entropies)});
  });
  return out;
}

}  // namespace grpo

// Scores of rows of logits, and their gradient, each in passes over a row that stays in the nearest cache.
#include "score_rows.h"

#include <ATen/Parallel.h>

#include <cmath>
#include <type_traits>

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

}  // namespace
}  // namespace grpo

#define KERNELS "score_rows_kernels.h"
#include "each_level.h"

namespace grpo {
namespace {

template <typename Job>
void runAll(const at::Tensor& logits, const Job& job) {
  at::parallel_for(0, logits.size(0), 1, [&](int64_t begin, int64_t end) {
    AT_LEVEL(scoreRows<Job>)(job, begin, end);
  });
}

// body(first element) for the type of the logits.
template <typename Body>
void withType(const at::Tensor& logits, const Body& body) {
  if (logits.scalar_type() == at::kFloat)
    body(logits.data_ptr<float>());
  else
    body(logits.data_ptr<at::BFloat16>());
}

}  // namespace

bool rowsServe(const at::Tensor& logits) {
  const auto type = logits.scalar_type();
  return logits.device().is_cpu() && logits.is_contiguous() && (type == at::kFloat || type == at::kBFloat16);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> scoreRows(const at::Tensor& logits, const at::Tensor& targets,
                                                         double temperature) {
  for (int64_t row = 0; row < targets.size(0); ++row) {
    const int64_t target = targets.data_ptr<int64_t>()[row];
    TORCH_CHECK(target >= 0 && target < logits.size(1), "target ", row, " is ", target,
                ", out of bounds: the vocabulary has ", logits.size(1), " tokens");
  }
  const auto options = logits.options().dtype(at::kFloat);
  auto normalizers = at::empty({logits.size(0)}, options), logprobs = at::empty_like(normalizers),
       entropies = at::empty_like(normalizers);
  withType(logits, [&](auto* rows) {
    runAll(logits, Scores<std::remove_pointer_t<decltype(rows)>>{
                       rows, targets.data_ptr<int64_t>(), float(temperature), logits.size(1),
                       normalizers.data_ptr<float>(), logprobs.data_ptr<float>(), entropies.data_ptr<float>()});
  });
  return {normalizers, logprobs, entropies};
}

at::Tensor gradientRows(const at::Tensor& logits, const at::Tensor& targets, double temperature,
                        const RowGradients& of) {
  auto out = at::empty_like(logits);
  const auto pointer = [](const at::Tensor& values) { return values.defined() ? values.data_ptr<float>() : nullptr; };
  withType(logits, [&](auto* rows) {
    using T = std::remove_pointer_t<decltype(rows)>;
    runAll(logits,
           Gradients<T>{rows, out.data_ptr<T>(), targets.data_ptr<int64_t>(), float(temperature), logits.size(1),
                        pointer(of.logprob), pointer(of.entropy), pointer(of.normalizers), pointer(of.entropies)});
  });
  return out;
}

}  // namespace grpo

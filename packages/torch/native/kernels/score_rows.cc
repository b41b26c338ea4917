// Scores of rows of logits, and their gradient, each in passes over a row that stays in the nearest cache.
#include "score_rows.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "token_sets.h"

namespace grpo {
namespace {

// Below every logit, and finite: times a probability of 0 it is 0.
constexpr float LEAST = -1e30f;

template <typename T>
struct Rows {
  using Logit = T;
  const T* logits;
  const int64_t* targets;
  int64_t vocab;
  float temperature, softcap;
  // Null where softmax is over all tokens.
  const uint8_t* sets;
  const int64_t* offsets;
};

template <typename T>
struct Scores : Rows<T> {
  float *normalizers, *logprobs, *entropies;
};

template <typename T>
struct Gradients : Rows<T> {
  T* out;
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

template <typename T>
Rows<T> rowsOf(const at::Tensor& logits, const at::Tensor& targets, const ScoreOptions& options) {
  const bool restricted = options.offsets.defined();
  return {logits.data_ptr<T>(),
          targets.data_ptr<int64_t>(),
          logits.size(1),
          float(options.temperature),
          float(options.softcap),
          restricted ? options.sets.data_ptr<uint8_t>() : nullptr,
          restricted ? options.offsets.data_ptr<int64_t>() : nullptr};
}

// body(a number of the type of the logits)
template <typename Body>
void withType(const at::Tensor& logits, const Body& body) {
  if (logits.scalar_type() == at::kFloat)
    body(float());
  else
    body(at::BFloat16());
}

}  // namespace

bool rowsServe(const at::Tensor& logits) {
  const auto type = logits.scalar_type();
  return logits.device().is_cpu() && logits.is_contiguous() && (type == at::kFloat || type == at::kBFloat16);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> scoreRows(const at::Tensor& logits, const at::Tensor& targets,
                                                         const ScoreOptions& options) {
  for (int64_t row = 0; row < targets.size(0); ++row) {
    const int64_t target = targets.data_ptr<int64_t>()[row];
    TORCH_CHECK(target >= 0 && target < logits.size(1), "target ", row, " is ", target,
                ", out of bounds: the vocabulary has ", logits.size(1), " tokens");
  }
  const auto wide = logits.options().dtype(at::kFloat);
  auto normalizers = at::empty({logits.size(0)}, wide), logprobs = at::empty_like(normalizers),
       entropies = at::empty_like(normalizers);
  withType(logits, [&](auto type) {
    using T = decltype(type);
    runAll(logits, Scores<T>{rowsOf<T>(logits, targets, options), normalizers.data_ptr<float>(),
                             logprobs.data_ptr<float>(), entropies.data_ptr<float>()});
  });
  return {normalizers, logprobs, entropies};
}

void gradientRows(const at::Tensor& logits, const at::Tensor& targets, const ScoreOptions& options,
                  const RowGradients& of) {
  const auto pointer = [](const at::Tensor& values) { return values.defined() ? values.data_ptr<float>() : nullptr; };
  withType(logits, [&](auto type) {
    using T = decltype(type);
    runAll(logits, Gradients<T>{rowsOf<T>(logits, targets, options), logits.data_ptr<T>(), pointer(of.logprob),
                                pointer(of.entropy), pointer(of.normalizers), pointer(of.entropies)});
  });
}

}  // namespace grpo

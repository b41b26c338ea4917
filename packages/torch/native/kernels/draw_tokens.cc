// grpo::draw_tokens: a token a row by inverting the cumulative distribution, with its log-probs, in passes over a row
// that stays in the nearest cache: no tensor as wide as the logits is made. Top-k, top-p and min-p are bounds of a
// row's numbers, which are searched for without sorting it.
#include <cfloat>
#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "decode.h"
#include "stages.h"
#include "token_sets.h"

namespace grpo {
namespace {

// Tokens whose probabilities are added up together when the drawn one is looked for; whole words of a bitmap.
constexpr int64_t BLOCK = 256;
// Numbers of a row that tell where a bound about is, and as many as are sorted to find it.
constexpr int64_t SAMPLE = 256;

constexpr float LEAST = -INFINITY;

// How a row's token is drawn: a row of the operator's `rules`.
struct Rules {
  double temperature, topK, topP, minP, repetitionPenalty, presencePenalty, frequencyPenalty, mayEnd;

  bool truncates() const { return temperature > 0 && (topK > 0 || topP < 1 || minP > 0); }
  bool penalizes() const { return repetitionPenalty != 1 || presencePenalty != 0 || frequencyPenalty != 0; }
};
constexpr int64_t RULES = sizeof(Rules) / sizeof(double);

struct Draws {
  const float* logits;
  // Tokens that rows which may not end do not draw, rising.
  const std::vector<int64_t>* forbidden;
  const double* uniforms;
  const Rules* rules;
  // Tokens that penalties are for, row after row, and where each row's begin; null where there are none.
  const int64_t *generated, *generatedOffsets;
  int64_t vocab, stride;
  int64_t* tokens;
  float *logprobs, *sampledLogprobs;
  // A coded set for each row that truncates; null where none is wanted.
  std::vector<uint8_t>* support;
};

// The logits that a row draws from where they are not the model's, and the tokens whose logits differ.
struct Changed {
  std::vector<float> logits;
  std::vector<int64_t> ids;
};

// Applies penalties for the tokens that were generated before, rounded as libtorch's operators round, and forbids those
// that may not be drawn; false where the row draws from the model's logits.
bool change(const Draws& job, int64_t r, Changed& out) {
  const Rules& rules = job.rules[r];
  auto& [logits, ids] = out;
  ids.clear();
  if (job.generated && rules.penalizes())
    ids.assign(job.generated + job.generatedOffsets[r], job.generated + job.generatedOffsets[r + 1]);
  const size_t penalized = ids.size();
  if (rules.mayEnd == 0) ids.insert(ids.end(), job.forbidden->begin(), job.forbidden->end());
  if (ids.empty()) return false;
  const float* own = job.logits + r * job.stride;
  logits.assign(own, own + job.vocab);
  std::sort(ids.begin(), ids.begin() + penalized);
  const auto repetition = float(rules.repetitionPenalty), presence = float(rules.presencePenalty),
             frequency = float(rules.frequencyPenalty);
  for (size_t i = 0, next = 0; i < penalized; i = next) {
    while (next < penalized && ids[next] == ids[i]) ++next;
    const float x = own[ids[i]], repeated = x > 0 ? x / repetition : x * repetition;
    logits[ids[i]] = (repeated - presence) - float(next - i) * frequency;
  }
  for (size_t i = penalized; i < ids.size(); ++i) logits[ids[i]] = LEAST;
  return true;
}

// The set of a bitmap's tokens, in the shorter of its codings.
void encodeSet(const std::vector<uint64_t>& words, std::vector<uint8_t>& out) {
  out.clear();
  int64_t size = 0, last = -1;
  for (size_t w = 0; w < words.size(); ++w) {
    size += __builtin_popcountll(words[w]);
    if (words[w]) last = int64_t(64 * w) + 63 - __builtin_clzll(words[w]);
  }
  const int64_t width = (last + 8) / 8;
  addVarint(out, 2 * uint64_t(size));
  const auto head = int64_t(out.size());
  int64_t next = 0;
  // A gap takes a byte at least.
  for (size_t w = 0; size <= width && w < words.size() && int64_t(out.size()) - head <= width; ++w) {
    for (uint64_t bits = words[w]; bits; bits &= bits - 1) {
      const int64_t id = int64_t(64 * w) + __builtin_ctzll(bits);
      addVarint(out, uint64_t(id - next));
      next = id + 1;
    }
  }
  if (size <= width && int64_t(out.size()) - head <= width) return;
  out.clear();
  addVarint(out, 2 * uint64_t(size) + 1);
  for (int64_t byte = 0; byte < width; ++byte) out.push_back(uint8_t(words[byte / 8] >> (byte % 8 * 8)));
}

}  // namespace
}  // namespace grpo

#define KERNELS "draw_tokens_kernels.h"
#include "each_level.h"

namespace grpo {
namespace {

using Drawn = std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor>;

void checkPlain(const char* name, const at::Tensor& tensor, at::ScalarType type, at::IntArrayRef shape) {
  TORCH_CHECK(tensor.device().is_cpu() && tensor.layout() == at::kStrided && tensor.scalar_type() == type &&
                  tensor.sizes() == shape && tensor.is_contiguous(),
              name, " must be ", type == at::kDouble ? "float64 " : "int64 ", shape, " and contiguous, found ",
              tensor.scalar_type(), " ", tensor.sizes());
}

void checkRules(const Rules* rules, int64_t n) {
  for (int64_t r = 0; r < n; ++r) {
    const auto& [temperature, topK, topP, minP, repetition, presence, frequency, mayEnd] = rules[r];
    TORCH_CHECK(temperature >= 0 && std::isfinite(float(temperature)), "temperature must be 0 or more, found ",
                temperature, " in row ", r);
    TORCH_CHECK(topK >= 0 && topK == std::floor(topK), "top-k must be a whole number from 0 on, found ", topK,
                " in row ", r);
    TORCH_CHECK(topP > 0 && topP <= 1, "top-p must be above 0 and at most 1, found ", topP, " in row ", r);
    TORCH_CHECK(minP >= 0 && minP <= 1, "min-p must be from 0 to 1, found ", minP, " in row ", r);
    TORCH_CHECK(repetition > 0 && std::isfinite(presence) && std::isfinite(frequency),
                "penalties must be finite, that of repetition above 0, found ", repetition, ", ", presence, " and ",
                frequency, " in row ", r);
  }
}

Drawn drawTokens(const at::Tensor& logits, const at::Tensor& uniforms, const at::Tensor& rules,
                 const OptionalTensor& forbidden, const OptionalTensor& generated,
                 const OptionalTensor& generatedOffsets, bool support) {
  checkDecodes("draw_tokens", {logits});
  TORCH_CHECK(logits.scalar_type() == at::kFloat && logits.dim() == 2 && logits.size(1) > 0,
              "logits must be float32 [N, V], found ", logits.scalar_type(), " ", logits.sizes());
  const int64_t n = logits.size(0), vocab = logits.size(1);
  checkRows("logits", logits, n, vocab);
  checkPlain("uniforms", uniforms, at::kDouble, {n});
  checkPlain("rules", rules, at::kDouble, {n, RULES});
  // No stage writes float64 or int64: these can be read while stages wait.
  checkRules(reinterpret_cast<const Rules*>(rules.data_ptr<double>()), n);
  const at::Tensor seen = orNone(generated), offsets = orNone(generatedOffsets);
  TORCH_CHECK(seen.defined() == offsets.defined(), "generated comes with its offsets");
  if (seen.defined()) {
    checkPlain("generated", seen, at::kLong, {seen.numel()});
    checkPlain("generated_offsets", offsets, at::kLong, {n + 1});
    const int64_t *at = offsets.data_ptr<int64_t>(), *ids = seen.data_ptr<int64_t>();
    TORCH_CHECK(at[0] == 0 && at[n] == seen.numel() && std::is_sorted(at, at + n + 1),
                "generated_offsets must rise from 0 to ", seen.numel());
    TORCH_CHECK(std::all_of(ids, ids + seen.numel(), [=](int64_t id) { return id >= 0 && id < vocab; }),
                "generated must be ids below ", vocab);
  }
  std::vector<int64_t> hidden;
  if (forbidden && forbidden->defined()) {
    TORCH_CHECK(forbidden->device().is_cpu() && forbidden->scalar_type() == at::kBool && forbidden->dim() == 1 &&
                    forbidden->size(0) == vocab,
                "forbidden must be bool [", vocab, "]");
    const at::Tensor mask = forbidden->contiguous();
    const bool *begin = mask.data_ptr<bool>(), *end = begin + vocab;
    for (const bool* at = begin; (at = std::find(at, end, true)) != end; ++at) hidden.push_back(at - begin);
  }
  auto tokens = at::empty({n}, uniforms.options().dtype(at::kLong));
  auto logprobs = at::empty({n}, logits.options()), sampled = at::empty({n}, logits.options());
  std::vector<std::vector<uint8_t>> sets(support ? n : 0);
  addStage({n, grainOf(4 * vocab),
            [=, sets = support ? sets.data() : nullptr](int64_t begin, int64_t end) {
              const Draws job{logits.data_ptr<float>(),
                              &hidden,
                              uniforms.data_ptr<double>(),
                              reinterpret_cast<const Rules*>(rules.data_ptr<double>()),
                              seen.defined() ? seen.data_ptr<int64_t>() : nullptr,
                              seen.defined() ? offsets.data_ptr<int64_t>() : nullptr,
                              vocab,
                              logits.stride(0),
                              tokens.data_ptr<int64_t>(),
                              logprobs.data_ptr<float>(),
                              sampled.data_ptr<float>(),
                              sets};
              AT_LEVEL(drawRows)(job, begin, end);
            }},
           sampled.nbytes());
  int64_t bytes = 0;
  if (support) {
    // How long the sets are is known only then.
    performStages();
    for (const auto& set : sets) bytes += int64_t(set.size());
  }
  auto data = at::empty({bytes}, uniforms.options().dtype(at::kByte)),
       lengths = at::empty({int64_t(sets.size())}, uniforms.options().dtype(at::kLong));
  uint8_t* to = data.data_ptr<uint8_t>();
  for (size_t r = 0; r < sets.size(); ++r) {
    lengths.data_ptr<int64_t>()[r] = int64_t(sets[r].size());
    to = std::copy(sets[r].begin(), sets[r].end(), to);
  }
  return {tokens, logprobs, sampled, data, lengths};
}

}  // namespace

void registerDrawTokens(torch::Library& library) {
  library.def(
      "draw_tokens(Tensor logits, Tensor uniforms, Tensor rules, *, Tensor? forbidden=None, Tensor? generated=None, "
      "Tensor? generated_offsets=None, bool support=False) -> (Tensor tokens, Tensor logprobs, Tensor "
      "sampled_logprobs, Tensor support, Tensor support_lengths)");
  library.impl("draw_tokens", torch::dispatch(c10::DispatchKey::CompositeImplicitAutograd, TORCH_FN(drawTokens)));
}

}  // namespace grpo

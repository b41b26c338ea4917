// grpo::segment_attention: each token sees all of the segment that its own continues, and its own up to itself; with a
// window, the last so many of these.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <cmath>
#include <unordered_map>

#include "scores.h"
#include "segment_attention.h"

// forward<T> and backward<T>: each call writes the rows of its family and key head, and of that head's queries, alone.
#define KERNELS "segment_attention_kernels.h"
#include "each_level.h"

namespace grpo {
namespace {

using namespace segment_attention;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t COLUMNS = 4;

// The kernels read and write by these alone: every token is in one segment, and a parent is a whole one.
std::vector<Family> familiesOf(const at::Tensor& table, int64_t tokens) {
  TORCH_CHECK(table.dim() == 2 && table.size(1) == COLUMNS && table.scalar_type() == at::kLong && table.is_cpu(),
              "segments are an int64 tensor [S, 4] on the CPU: start, length, the parent's start and length");
  const auto rows = table.contiguous();
  const int64_t* row = rows.data_ptr<int64_t>();
  std::vector<Family> families;
  // Of each segment that has no parent itself, by its start.
  std::unordered_map<int64_t, size_t> familyAt;
  int64_t end = 0;
  for (int64_t i = 0; i < rows.size(0); ++i, row += COLUMNS) {
    const Segment segment{row[0], row[1]}, parent{row[2], row[3]};
    TORCH_CHECK(segment.start == end, "segment ", i, " starts at token ", segment.start, ", the one before it ends at ",
                end);
    TORCH_CHECK(segment.length >= 0 && segment.length <= tokens - end, "segment ", i, " has ", segment.length,
                " tokens, ", tokens - end, " are left");
    end += segment.length;
    if (segment.length == 0) continue;
    if (parent.length == 0) {
      familyAt[segment.start] = families.size();
      families.push_back({segment});
      continue;
    }
    const auto found = familyAt.find(parent.start);
    TORCH_CHECK(found != familyAt.end() && families[found->second][0].length == parent.length, "segment ", i,
                " continues the ", parent.length, " tokens from ", parent.start,
                ", which are no segment before it that has no parent itself");
    families[found->second].push_back(segment);
  }
  TORCH_CHECK(end == tokens, "the segments hold ", end, " of ", tokens, " tokens");
  return families;
}

// Heads are read wherever they are, as long as a head's numbers are side by side.
at::Tensor readable(const at::Tensor& x) { return x.stride(2) == 1 ? x : x.contiguous(); }

template <class T>
Heads<T> headsOf(const at::Tensor& x) {
  return {static_cast<T*>(x.data_ptr()), x.stride(0), x.stride(1)};
}

// Calls back with each family and key head. Their order and number do not depend on the threads.
template <class Body>
void forEach(const std::vector<Family>& families, int64_t heads, const Body& body) {
  at::parallel_for(0, int64_t(families.size()) * heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(families[size_t(i / heads)], i % heads);
  });
}

struct Attention {
  const std::vector<Family>& families;
  const at::Tensor &q, &k, &v, &out, &normalizers;
  Scores scores;

  int64_t keyHeads() const { return k.size(1); }
  int64_t ratio() const { return q.size(1) / k.size(1); }
  int64_t width() const { return q.size(2); }

  template <class T>
  void forward() const {
    const Forward<T> call{headsOf<const T>(q),
                          headsOf<const T>(k),
                          headsOf<const T>(v),
                          headsOf<T>(out),
                          headsOf<float>(normalizers),
                          ratio(),
                          width(),
                          scores};
    forEach(families, keyHeads(), [&](const Family& family, int64_t head) {
      AT_LEVEL(forward<T>)(call, family, head);
    });
  }

  template <class T>
  void backward(const at::Tensor& dout, const at::Tensor& dq, const at::Tensor& dk, const at::Tensor& dv) const {
    const Backward<T> call{headsOf<const T>(q),
                           headsOf<const T>(k),
                           headsOf<const T>(v),
                           headsOf<const T>(out),
                           headsOf<const T>(dout),
                           headsOf<const float>(normalizers),
                           headsOf<T>(dq),
                           headsOf<T>(dk),
                           headsOf<T>(dv),
                           ratio(),
                           width(),
                           scores};
    forEach(families, keyHeads(), [&](const Family& family, int64_t head) {
      AT_LEVEL(backward<T>)(call, family, head);
    });
  }
};

struct SegmentAttention : torch::autograd::Function<SegmentAttention> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& query, const at::Tensor& key,
                            const at::Tensor& value, const at::Tensor& segments, double scale, int64_t window,
                            double softcap) {
    at::AutoDispatchBelowADInplaceOrView below;
    const auto q = readable(query), k = readable(key), v = readable(value);
    const auto out = at::empty(q.sizes(), q.options()),
               normalizers = at::empty({q.size(0), q.size(1)}, q.options().dtype(at::kFloat));
    const auto families = familiesOf(segments, q.size(0));
    const Attention attention{families, q, k, v, out, normalizers, {float(scale), window, float(softcap)}};
    isHalf(q) ? attention.forward<at::BFloat16>() : attention.forward<float>();
    context->save_for_backward({q, k, v, out, normalizers, segments});
    context->saved_data["scale"] = scale;
    context->saved_data["window"] = window;
    context->saved_data["softcap"] = softcap;
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    TORCH_CHECK(!at::GradMode::is_enabled(), "segment_attention has no second derivative");
    const auto saved = context->get_saved_variables();
    const auto &q = saved[0], &k = saved[1], &v = saved[2];
    const auto dq = at::empty(q.sizes(), q.options()), dk = at::empty(k.sizes(), k.options()),
               dv = at::empty(v.sizes(), v.options());
    const auto families = familiesOf(saved[5], q.size(0));
    const auto number = [&](const char* name) { return float(context->saved_data[name].toDouble()); };
    const Scores scores{number("scale"), context->saved_data["window"].toInt(), number("softcap")};
    const Attention attention{families, q, k, v, saved[3], saved[4], scores};
    const auto dout = readable(gradients[0]);
    isHalf(q) ? attention.backward<at::BFloat16>(dout, dq, dk, dv) : attention.backward<float>(dout, dq, dk, dv);
    return {dq, dk, dv, {}, {}, {}, {}};
  }

  static bool isHalf(const at::Tensor& x) { return x.scalar_type() == at::kBFloat16; }
};

at::Tensor segmentAttention(const at::Tensor& query, const at::Tensor& key, const at::Tensor& value,
                            const at::Tensor& segments, c10::optional<double> scale, int64_t window, double softcap) {
  for (const auto& x : {query, key, value})
    TORCH_CHECK(x.is_cpu() && x.layout() == at::kStrided &&
                    (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16) &&
                    x.scalar_type() == query.scalar_type(),
                "query, key and value are float32 or bfloat16, all the same, on the CPU");
  TORCH_CHECK(query.dim() == 3 && key.dim() == 3 && key.sizes() == value.sizes() && query.size(0) == key.size(0) &&
                  query.size(2) == key.size(2),
              "query is [N, heads, width], key and value are [N, key heads, width]");
  TORCH_CHECK(query.size(2) > 0 && key.size(1) > 0 && query.size(1) > 0 && query.size(1) % key.size(1) == 0,
              "heads are of at least one number, and those of query a multiple of those of key and value");
  checkScores(scale, window, softcap);
  const int64_t tokens = query.size(0);
  return SegmentAttention::apply(query, key, value, segments, scale.value_or(1 / std::sqrt(double(query.size(2)))),
                                 window == 0 ? tokens : std::min(window, tokens), softcap);
}

}  // namespace

void registerSegmentAttention(torch::Library& library) {
  library.def(
      "segment_attention(Tensor query, Tensor key, Tensor value, Tensor segments, *, float? scale=None, int window=0, "
      "float softcap=0.) -> Tensor");
  library.impl("segment_attention",
               torch::dispatch(c10::DispatchKey::CompositeImplicitAutograd, TORCH_FN(segmentAttention)));
}

}  // namespace grpo

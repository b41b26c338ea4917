// grpo::segment_attention: each token sees all of the segment that its own continues, and its own up to itself; with a
// window, the last so many of these.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "scores.h"
#include "scratch.h"
#include "segment_attention.h"

// forward<T> and backward<T>: each call writes the rows of its part of a family, of its key head and that head's
// queries, alone. What it writes does not depend on the other parts.
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

// Ranges of about equal sums, each but the last a multiple of `unit` long.
std::vector<Range> cut(const std::vector<int64_t>& costs, int64_t count, int64_t unit) {
  const int64_t n = int64_t(costs.size());
  int64_t total = 0, sum = 0, begin = 0;
  for (const int64_t cost : costs) total += cost;
  std::vector<Range> ranges;
  for (int64_t i = 0; i < n; ++i) {
    sum += costs[size_t(i)];
    const bool isEnough = (i + 1) % unit == 0 && sum * count >= total * int64_t(ranges.size() + 1);
    if (!isEnough && i + 1 < n) continue;
    ranges.push_back({begin, i + 1});
    begin = i + 1;
  }
  return ranges;
}

// Several tasks for a family and key head, in pairs of about equal work. Queries and keys are apart, since two tasks
// must not add to one sum; that takes seven products where one task takes five.
std::vector<Part> partsOf(const Family& family, int64_t window, int64_t count) {
  constexpr int64_t kUnit = 64;
  const int64_t parent = family[0].length;
  std::vector<int64_t> ofQueries, ofKeys;
  for (const Segment& segment : family) {
    const int64_t before = &segment == family.data() ? 0 : parent, end = before + segment.length;
    ofKeys.resize(size_t(std::max(int64_t(ofKeys.size()), end)));
    for (int64_t i = before; i < end; ++i) ofQueries.push_back(std::min(i + 1, window));
    for (int64_t i = 0; i < end; ++i)
      ofKeys[size_t(i)] += std::max<int64_t>(0, std::min(end, i + window) - std::max(i, before));
  }
  const auto queries = cut(ofQueries, count, 1), keys = cut(ofKeys, count, kUnit);
  std::vector<Part> parts;
  for (size_t i = 0; i < std::max(queries.size(), keys.size()); ++i) {
    if (i < queries.size()) parts.push_back({queries[i], {}});
    if (i < keys.size()) parts.push_back({{}, keys[i]});
  }
  return parts;
}

// Keys that the queries of a family see, all together: what a key head has to do.
int64_t workOf(const Family& family, int64_t window) {
  int64_t work = 0;
  for (const Segment& segment : family) {
    const int64_t before = &segment == family.data() ? 0 : family[0].length;
    for (int64_t i = 0; i < segment.length; ++i) work += std::min(before + i + 1, window);
  }
  return work;
}

// Calls back with each family and key head; with parts of them where one alone would be more than a thread's share. A
// thread that is done takes the next task, of the largest first: rows that fill up a batch are a family, too.
template <class Body>
void forEach(const std::vector<Family>& families, int64_t heads, int64_t window, const Body& body) {
  struct Task {
    const Family* family;
    int64_t head, work;
    Part part;
  };
  std::vector<int64_t> works;
  int64_t total = 0;
  for (const Family& family : families) total += works.emplace_back(workOf(family, window)) * heads;
  constexpr Range kAll{0, std::numeric_limits<int64_t>::max()};
  std::vector<Task> tasks;
  for (size_t i = 0; i < families.size(); ++i) {
    const Family& family = families[i];
    const int64_t count = at::get_num_threads() * works[i] / total;
    const auto parts = count < 2 ? std::vector<Part>{{kAll, kAll}} : partsOf(family, window, count);
    for (int64_t head = 0; head < heads; ++head)
      for (const Part& part : parts) tasks.push_back({&family, head, works[i] / int64_t(parts.size()), part});
  }
  std::stable_sort(tasks.begin(), tasks.end(), [](const Task& a, const Task& b) { return a.work > b.work; });
  std::atomic<size_t> next{0};
  at::parallel_for(0, std::min<int64_t>(int64_t(tasks.size()), at::get_num_threads()), 1, [&](int64_t, int64_t) {
    for (size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < tasks.size();)
      body(*tasks[i].family, tasks[i].head, tasks[i].part);
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
    forEach(families, keyHeads(), scores.window, [&](const Family& family, int64_t head, const Part& part) {
      if (!part.queries.empty()) AT_LEVEL(forward<T>)(call, family, head, part.queries);
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
    forEach(families, keyHeads(), scores.window, [&](const Family& family, int64_t head, const Part& part) {
      AT_LEVEL(backward<T>)(call, family, head, part);
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

#include "buckets.h"

#include <c10/core/InferenceMode.h>

namespace grpo {
namespace {

constexpr int64_t kBucketBytes = 32 << 20;

}  // namespace

at::ScalarType sumType(at::ScalarType type) {
  if (type == at::kDouble || type == at::kFloat) return type;
  if (type == at::kBFloat16 || type == at::kHalf) return at::kFloat;
  throw std::invalid_argument(std::string("tensors of ") + c10::toString(type) + " are not summed over processes");
}

void inBuckets(const std::vector<at::Tensor>& tensors, at::ScalarType (*typeOf)(at::ScalarType),
               const std::function<void(at::Tensor)>& transfer) {
  // Writes into leaves of a graph, and into tensors of inference.
  const c10::InferenceMode noGraph;
  const auto travelsAlone = [&](const at::Tensor& t) {
    return t.device().is_cpu() && t.is_contiguous() && t.scalar_type() == typeOf(t.scalar_type()) &&
           int64_t(t.nbytes()) >= kBucketBytes;
  };
  for (size_t begin = 0, end; begin < tensors.size(); begin = end) {
    end = begin + 1;
    if (travelsAlone(tensors[begin])) {
      transfer(tensors[begin].view({-1}));
      continue;
    }
    const at::ScalarType type = typeOf(tensors[begin].scalar_type());
    const int64_t most = kBucketBytes / int64_t(c10::elementSize(type));
    int64_t count = tensors[begin].numel();
    for (; end < tensors.size() && !travelsAlone(tensors[end]); ++end) {
      const at::Tensor& next = tensors[end];
      if (typeOf(next.scalar_type()) != type || count + next.numel() > most) break;
      count += next.numel();
    }
    if (count == 0) continue;
    const at::Tensor bucket = at::empty({count}, type);
    const auto eachPart = [&](const std::function<void(const at::Tensor&, const at::Tensor&)>& body) {
      int64_t offset = 0;
      for (size_t i = begin; i < end; ++i) {
        body(tensors[i], bucket.narrow(0, offset, tensors[i].numel()).view(tensors[i].sizes()));
        offset += tensors[i].numel();
      }
    };
    eachPart([](const at::Tensor& tensor, const at::Tensor& part) { part.copy_(tensor); });
    transfer(bucket);
    eachPart([](const at::Tensor& tensor, const at::Tensor& part) { tensor.copy_(part); });
  }
}

}  // namespace grpo

// Memory of CPU tensors. libtorch aligns each block by posix_memalign, which asks the C library for a little more than
// the block and gives the rest back: a freed block is then too small for the next of its own size, and a process that
// makes and frees large tensors grows to several times what it holds. Here block and alignment are one allocation.
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <torch/version.h>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "allocator.h"

namespace grpo {
namespace {

// As libtorch aligns: a line of the cache.
constexpr size_t kAlignment = 64;

// The block's address stands before the aligned one.
void freeAligned(void* data) {
  if (data) std::free(static_cast<void**>(data)[-1]);
}

// The system clears and looks up large pages many times faster. Memory that was touched before keeps its small ones.
void adviseLargePages(void* data, size_t bytes) {
#if defined(__linux__)
  constexpr uintptr_t kPage = uintptr_t(2) << 20;
  const auto begin = reinterpret_cast<uintptr_t>(data), end = begin + bytes;
  const uintptr_t first = (begin + kPage - 1) / kPage * kPage, last = end / kPage * kPage;
  if (last > first) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
}

struct AlignedAllocator final : at::Allocator {
  at::DataPtr take(size_t bytes) const {
    const at::Device cpu(at::kCPU);
    if (bytes == 0) return {nullptr, nullptr, &freeAligned, cpu};
    constexpr size_t extra = sizeof(void*) + kAlignment;
    void* block = bytes > SIZE_MAX - extra ? nullptr : std::malloc(bytes + extra);
    TORCH_CHECK(block, "can't allocate memory: a tensor of ", bytes, " bytes does not fit");
    const auto address = reinterpret_cast<uintptr_t>(block) + sizeof(void*);
    void* data = reinterpret_cast<void*>((address + kAlignment - 1) / kAlignment * kAlignment);
    static_cast<void**>(data)[-1] = block;
    adviseLargePages(data, bytes);
    return {data, data, &freeAligned, cpu};
  }

  at::DeleterFnPtr raw_deleter() const override { return &freeAligned; }

#if TORCH_VERSION_MAJOR > 2 || (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR >= 3)
  at::DataPtr allocate(size_t bytes) override { return take(bytes); }
#else
  at::DataPtr allocate(size_t bytes) const override { return take(bytes); }
#endif

#if TORCH_VERSION_MAJOR >= 2
  void copy_data(void* to, const void* from, size_t bytes) const final { std::memcpy(to, from, bytes); }
#endif
};

}  // namespace

void useAllocator() {
  static AlignedAllocator allocator;
  c10::SetCPUAllocator(&allocator, /*priority=*/1);
}

}  // namespace grpo

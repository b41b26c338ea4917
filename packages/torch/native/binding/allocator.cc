// Memory of CPU tensors. libtorch aligns each block by posix_memalign, which asks the C library for a little more than
// the block and gives the rest back: a freed block is then too small for the next of its own size, and a process that
// makes and frees large tensors grows to several times what it holds. Here block and alignment are one allocation.
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <torch/version.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#if defined(__GLIBC__)
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "allocator.h"

namespace grpo {
namespace {

// As libtorch aligns: a line of the cache.
constexpr size_t kAlignment = 64;

// The block's address stands before the aligned one.
void freeAligned(void* data) {
  if (data) std::free(static_cast<void**>(data)[-1]);
}

// The system clears and looks up large pages many times faster. Memory that was touched before keeps its small ones, so
// what is new at the end of the C library's heap is asked for before anyone touches it.
void adviseLargePages() {
#if defined(__GLIBC__)
  constexpr uintptr_t kPage = 1 << 12;
  static std::atomic<uintptr_t> known{0};
  const auto end = reinterpret_cast<uintptr_t>(sbrk(0)) / kPage * kPage, begin = known.exchange(end);
  if (begin > 0 && end > begin) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
#endif
}

void tuneHeap() {
#if defined(__GLIBC__)
  // Without this glibc returns every large block at once and each operator faults its pages in again.
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_TOP_PAD, 64 << 20);
#endif
}

struct AlignedAllocator final : at::Allocator {
  at::DataPtr take(size_t bytes) const {
    const at::Device cpu(at::kCPU);
    if (bytes == 0) return {nullptr, nullptr, &freeAligned, cpu};
    constexpr size_t extra = sizeof(void*) + kAlignment;
    void* block = bytes > SIZE_MAX - extra ? nullptr : std::malloc(bytes + extra);
    adviseLargePages();
    TORCH_CHECK(block, "can't allocate memory: a tensor of ", bytes, " bytes does not fit");
    const auto address = reinterpret_cast<uintptr_t>(block) + sizeof(void*);
    void* data = reinterpret_cast<void*>((address + kAlignment - 1) / kAlignment * kAlignment);
    static_cast<void**>(data)[-1] = block;
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
  tuneHeap();
  adviseLargePages();
  c10::SetCPUAllocator(&allocator, /*priority=*/1);
}

void trimHeap() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace grpo

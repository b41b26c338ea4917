// Memory of CPU tensors. libtorch aligns each block by posix_memalign, which asks the C library for a little more than
// the block and gives the rest back: a freed block is then too small for the next of its own size, and a process that
// makes and frees large tensors grows to several times what it holds. Here block and alignment are one allocation, and
// a very large block is the system's own: between such blocks the heap would be left with holes of their size.
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <sys/mman.h>
#include <torch/version.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "allocator.h"

namespace grpo {
namespace {

// As libtorch aligns: a line of the cache.
constexpr size_t kAlignment = 64;

// From this size on a block's pages come from the system and go back to it: few tensors are as large, and to fault
// their pages in takes little beside what is computed with them.
constexpr size_t kMapped = size_t(256) << 20;

// Stands before the aligned address.
struct Block {
  void* address;
  // Of a mapped block; 0 of one of the heap.
  size_t mapped;
};

void freeAligned(void* data) {
  if (!data) return;
  const Block block = static_cast<Block*>(data)[-1];
  if (block.mapped > 0)
    munmap(block.address, block.mapped);
  else
    std::free(block.address);
}

Block takeBlock(size_t bytes) {
  if (bytes < kMapped) return {std::malloc(bytes), 0};
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return {address == MAP_FAILED ? nullptr : address, bytes};
}

struct AlignedAllocator final : at::Allocator {
  at::DataPtr take(size_t bytes) const {
    const at::Device cpu(at::kCPU);
    if (bytes == 0) return {nullptr, nullptr, &freeAligned, cpu};
    constexpr size_t extra = sizeof(Block) + kAlignment;
    const Block block = bytes > SIZE_MAX - extra ? Block{} : takeBlock(bytes + extra);
    TORCH_CHECK(block.address, "can't allocate memory: a tensor of ", bytes, " bytes does not fit");
    const auto address = reinterpret_cast<uintptr_t>(block.address) + sizeof(Block);
    void* data = reinterpret_cast<void*>((address + kAlignment - 1) / kAlignment * kAlignment);
    static_cast<Block*>(data)[-1] = block;
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

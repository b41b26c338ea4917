#pragma once

namespace grpo {

// Makes ours the allocator of CPU tensors; earlier ones are freed as they were made.
void useAllocator();

// Returns free pages of the C library's heap to the system, also those between tensors. Only glibc has a call for it.
void trimHeap();

}  // namespace grpo

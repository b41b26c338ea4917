#pragma once

namespace grpo {

// Makes ours the allocator of CPU tensors; earlier ones are freed as they were made.
void useAllocator();

// Gives free memory of the C library's heap back to the system, also from between tensors, where the library can.
void trimHeap();

}  // namespace grpo

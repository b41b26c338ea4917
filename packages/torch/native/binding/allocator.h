#pragma once

namespace grpo {

// Makes ours the allocator of CPU tensors; earlier ones are freed as they were made.
void useAllocator();

}  // namespace grpo

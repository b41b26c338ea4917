#pragma once

namespace grpo {

// Chooses, as long as this process lives, how long the threads of this thread's parallel loops spin before they sleep.
// To be called again when their number has changed.
void watchWaiting();

}  // namespace grpo

#pragma once

namespace grpo {

// Operators of our own, under `grpo::`. Once a process, however often the addon is loaded.
void registerOperators();

}  // namespace grpo

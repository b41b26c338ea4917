// How scores of attention are made, for the operators that have a choice.
#pragma once
#include <c10/util/Exception.h>
#include <c10/util/Optional.h>

#include <cmath>
#include <cstdint>

namespace grpo {

// `scale` multiplies query × key; none is 1 / √width. A window of 0 is none, and so is a softcap of 0.
inline void checkScores(c10::optional<double> scale, int64_t window, double softcap) {
  TORCH_CHECK(!scale || std::isfinite(*scale), "scale is a finite number, found ", *scale);
  TORCH_CHECK(window >= 0, "window is a number of tokens, or 0 for all, found ", window);
  TORCH_CHECK(std::isfinite(softcap) && softcap >= 0, "softcap is a positive number, or 0 for none, found ", softcap);
}

}  // namespace grpo

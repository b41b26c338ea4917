// Operators of our own, beside libtorch's in the dispatcher.
#include "operators.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include "decode.h"
#include "linear.h"

namespace grpo {

void registerOperators() {
  if (c10::Dispatcher::singleton().findSchema({"grpo::linear", ""})) return;
  static torch::Library library(torch::Library::DEF, "grpo", c10::nullopt, __FILE__, __LINE__);
  registerLinear(library);
  registerEmbedding(library);
  registerTokenScores(library);
  registerDecodeAttention(library);
  registerDecodeNorm(library);
  registerDrawTokens(library);
  registerSegmentAttention(library);
  registerLayerParts(library);
}

}  // namespace grpo

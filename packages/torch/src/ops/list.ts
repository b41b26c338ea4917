/**
 * The operators that have types: name here → ATen operator with its overload, and one line of help.
 * `npm run ops` makes `generated/ops.ts` from this list and the schemas of the libtorch at hand.
 */
export const operators: Record<string, [operator: string, help: string]> = {
  // Making tensors
  empty: ['aten::empty.memory_format', 'A tensor whose elements are whatever lies in memory.'],
  zeros: ['aten::zeros', 'A tensor of zeros.'],
  ones: ['aten::ones', 'A tensor of ones.'],
  full: ['aten::full', 'A tensor of one value.'],
  arange: ['aten::arange.start_step', 'start, start + step, … below end.'],
  zerosLike: ['aten::zeros_like', 'Zeros with the shape and dtype of self.'],
  tril: ['aten::tril', 'The lower triangle; the rest is zero.'],

  // Moving and copying
  to: ['aten::to.dtype', 'Converts to a dtype; self when it has it already.'],
  toDeviceAs: ['aten::to.device', 'Copies to a device and dtype.'],
  clone: ['aten::clone', 'A copy with its own memory.'],
  detach: ['aten::detach', 'The same elements, outside the graph.'],
  contiguous: ['aten::contiguous', 'Row-major in memory; self when it is so already.'],
  copy_: ['aten::copy_', 'Writes the elements of src into self.'],
  fill_: ['aten::fill_.Scalar', 'Writes one value into self.'],

  // Elementwise
  add: ['aten::add.Tensor', 'self + alpha × other.'],
  add_: ['aten::add_.Tensor', 'self += alpha × other.'],
  sub: ['aten::sub.Tensor', 'self − alpha × other.'],
  sub_: ['aten::sub_.Tensor', 'self −= alpha × other.'],
  mul: ['aten::mul.Tensor', 'self × other.'],
  mul_: ['aten::mul_.Tensor', 'self ×= other.'],
  div: ['aten::div.Tensor', 'self / other.'],
  div_: ['aten::div_.Tensor', 'self /= other.'],
  pow: ['aten::pow.Tensor_Scalar', 'self to the power of exponent.'],
  neg: ['aten::neg', '−self.'],
  abs: ['aten::abs', '|self|.'],
  exp: ['aten::exp', 'e to the power of self.'],
  expm1: ['aten::expm1', 'exp(self) − 1, exact near 0.'],
  log: ['aten::log', 'Natural logarithm.'],
  sqrt: ['aten::sqrt', 'Square root.'],
  rsqrt: ['aten::rsqrt', '1 / √self.'],
  sin: ['aten::sin', 'Sine.'],
  cos: ['aten::cos', 'Cosine.'],
  tanh: ['aten::tanh', 'Hyperbolic tangent.'],
  sigmoid: ['aten::sigmoid', '1 / (1 + exp(−self)).'],
  gelu: ['aten::gelu', "GELU; approximate: 'none' or 'tanh'."],
  silu: ['aten::silu', 'self × sigmoid(self).'],
  minimum: ['aten::minimum', 'The smaller of two, elementwise.'],
  maximum: ['aten::maximum', 'The larger of two, elementwise.'],
  clamp: ['aten::clamp', 'Bounds the elements from below and above.'],
  where: ['aten::where.self', 'self where the condition holds, else other.'],
  maskedFill: ['aten::masked_fill.Scalar', 'value where the mask is true, else self.'],
  maskedFill_: ['aten::masked_fill_.Scalar', 'Writes value where the mask is true.'],

  // Comparing
  eq: ['aten::eq.Tensor', 'self = other.'],
  ne: ['aten::ne.Tensor', 'self ≠ other.'],
  lt: ['aten::lt.Tensor', 'self < other.'],
  le: ['aten::le.Tensor', 'self ≤ other.'],
  gt: ['aten::gt.Tensor', 'self > other.'],
  ge: ['aten::ge.Tensor', 'self ≥ other.'],
  logicalAnd: ['aten::logical_and', 'Both true.'],
  logicalNot: ['aten::logical_not', 'Not true.'],
  isfinite: ['aten::isfinite', 'Neither infinite nor NaN.'],

  // Reducing
  sum: ['aten::sum', 'Sum of all elements.'],
  sumDim: ['aten::sum.dim_IntList', 'Sum over dimensions.'],
  mean: ['aten::mean', 'Mean of all elements.'],
  meanDim: ['aten::mean.dim', 'Mean over dimensions.'],
  amax: ['aten::amax', 'Maximum over dimensions.'],
  amin: ['aten::amin', 'Minimum over dimensions.'],
  argmax: ['aten::argmax', 'Index of the maximum.'],
  all: ['aten::all', 'Whether all elements are true.'],
  any: ['aten::any', 'Whether any element is true.'],
  cumsum: ['aten::cumsum', 'Running sum along a dimension.'],
  linalgVectorNorm: ['aten::linalg_vector_norm', 'The norm, of all elements or along dimensions.'],
  logsumexp: ['aten::logsumexp', 'log Σ exp(self) over dimensions.'],
  softmax: ['aten::softmax.int', 'exp(self) normalised along a dimension.'],
  logSoftmax: ['aten::log_softmax.int', 'log of softmax along a dimension.'],
  topk: ['aten::topk', 'The k largest (values, indices) along a dimension, sorted.'],
  sort: ['aten::sort', '(values, indices) in order along a dimension.'],
  searchsorted: ['aten::searchsorted.Tensor', 'Where values would be inserted into sorted sequences.'],

  // Shaping
  view: ['aten::view', 'The same memory in another shape.'],
  reshape: ['aten::reshape', 'Another shape, copied when it must be.'],
  flatten: ['aten::flatten.using_ints', 'Dimensions startDim to endDim as one.'],
  transpose: ['aten::transpose.int', 'Two dimensions exchanged.'],
  t: ['aten::t', 'A matrix transposed.'],
  permute: ['aten::permute', 'Dimensions in another order.'],
  unsqueeze: ['aten::unsqueeze', 'A new dimension of size 1.'],
  squeeze: ['aten::squeeze.dim', 'A dimension of size 1 left out.'],
  expand: ['aten::expand', 'Dimensions of size 1 repeated without copying; −1 keeps a size.'],
  repeatInterleave: ['aten::repeat_interleave.self_int', 'Each element repeated along a dimension.'],
  cat: ['aten::cat', 'Tensors one after another along a dimension.'],
  stack: ['aten::stack', 'Tensors along a new dimension.'],
  splitWithSizes: ['aten::split_with_sizes', 'Views of the given sizes along a dimension.'],

  // Indexing
  narrow: ['aten::narrow', 'A view of length elements from start along a dimension.'],
  select: ['aten::select.int', 'A view of one index along a dimension, which goes away.'],
  indexSelect: ['aten::index_select', 'Rows at the given indices along a dimension.'],
  gather: ['aten::gather', 'One element per index along a dimension.'],
  indexCopy_: ['aten::index_copy_', 'Writes source into the given indices along a dimension.'],
  scatterAdd_: ['aten::scatter_add_', 'Adds elements of src at the given indices.'],

  // Multiplying
  matmul: ['aten::matmul', 'Matrix product, batched over leading dimensions.'],
  mm: ['aten::mm', 'Product of two matrices.'],
  linear: ['grpo::linear', 'input × weightᵀ + bias, by the faster of MKL and oneDNN.'],

  packLinear: [
    'grpo::pack_linear',
    'A weight laid out for many products without a gradient; to be used by packedLinear alone.',
  ],
  packedLinear: [
    'grpo::packed_linear',
    'input × weightᵀ + bias for a packed weight of so many outputs, without a gradient.',
  ],

  // Networks
  embedding: ['grpo::embedding', 'Rows of weight at the given indices.'],
  layerNorm: [
    'grpo::layer_norm',
    'Normalised to mean 0 and variance 1 over the last dimension, scaled and shifted.',
  ],
  rmsNorm: ['grpo::rms_norm', 'Divided by the root of the mean square over the last dimension, scaled.'],
  rotate: [
    'grpo::rotate',
    'Turns the pairs (i, i + pairs) of each head of [N, heads, width], by cos and sin [N, 1, pairs].',
  ],
  gatedActivation: ['grpo::gated_activation', "activation(gate) × up; activation: 'silu' or 'gelu_tanh'."],
  tokenScores: [
    'grpo::token_scores',
    'Log-probs, entropies and full KL of tokens from hidden states and the vocabulary projection, in chunks.',
  ],
  segmentAttention: [
    'grpo::segment_attention',
    "Attention within segments and to those that they continue, on the CPU in float32 or bfloat16: a row of segments is start, length, the parent's start and length.",
  ],
  scaledDotProductAttention: [
    'aten::scaled_dot_product_attention',
    'softmax(query × keyᵀ × scale + mask) × value, over [batch, heads, length, width].',
  ],

  // Decoding, without gradients, on CPU tensors of float32 or bfloat16
  decodeAttention: [
    'grpo::decode_attention',
    'Attention of one new token per row, whose key and value are written into its place of the cache.',
  ],
  addNorm: [
    'grpo::add_norm',
    '(x + factor × delta, its layer norm where a bias is given, else its RMS norm; without a weight itself), over the last dimension.',
  ],
  drawTokens: [
    'grpo::draw_tokens',
    'One token per row at a uniform number of the cumulative distribution, with its log-probs.',
  ],

  // Random numbers
  normal_: ['aten::normal_', 'Writes draws from a normal distribution into self.'],
  uniform_: ['aten::uniform_', 'Writes draws from a uniform distribution into self.'],

  // Lists of tensors
  foreachMul_: ['aten::_foreach_mul_.Scalar', 'Multiplies each tensor by one number, in place.'],
  fusedAdamW_: [
    'aten::_fused_adamw_',
    'One AdamW step of each tensor, in place; the step counts are not advanced.',
  ],
};

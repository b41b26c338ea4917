/**
 * libtorch for Node: tensors, autograd and every ATen operator through one call.
 * @module
 */
import './composites.js';

export { AdamW, type AdamWOptions, type AdamWState, type GradientNorms } from './adamw.js';
export { backward, grad, inferenceMode, isGradEnabled, mark, noGrad } from './autograd.js';
export { byteParts, fromBytes, tensor } from './create.js';
export { CudaGraph, canCapture } from './cuda-graph.js';
export { OperatorError, unsafe } from './dispatch.js';
export { type DType, dtypeSize } from './dtype.js';
export * from './generated/ops.js';
export { Generator, getRngState, manualSeed, setRngState } from './generator.js';
export { type JoinOptions, PeerError, ProcessGroup } from './process-group.js';
export { Recording } from './recording.js';
export * from './runtime.js';
export { keep, tidy } from './scope.js';
export { takeSignal, watchSignals } from './signals.js';
export { type Scalar, Tensor, type TypedArray } from './tensor.js';

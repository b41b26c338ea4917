import { native } from './native.js';
import { refusePromise } from './promise.js';
import { liveHandle, liveHandles, Tensor } from './tensor.js';

// The mode belongs to the thread.
const modeEnds = 'the mode ends at its first await';

/** Runs `body` without recording operations for the backward pass. */
export function noGrad<T>(body: () => T): T {
  const before = native.setGradMode(false);
  try {
    return refusePromise('noGrad', body(), modeEnds);
  } finally {
    native.setGradMode(before);
  }
}

/** Whether operations are recorded for the backward pass. */
export function isGradEnabled(): boolean {
  const enabled = native.setGradMode(true);
  native.setGradMode(enabled);
  return enabled;
}

/** Like `noGrad`, and cheaper: tensors made inside can never take part in a backward pass. */
export function inferenceMode<T>(body: () => T): T {
  native.enterInference();
  try {
    return refusePromise('inferenceMode', body(), modeEnds);
  } finally {
    native.leaveInference();
  }
}

/**
 * One backward pass from several tensors, each with its gradient: accumulates gradients into the leaves that they depend
 * on, the tensors themselves where they are leaves.
 */
export function backward(tensors: readonly Tensor[], gradients: readonly Tensor[]): void {
  const handles = liveHandles(tensors, 'tensors');
  const weights = liveHandles(gradients, 'gradients');
  if (handles.length === 0) throw new RangeError('backward() needs tensors');
  if (weights.length !== handles.length)
    throw new RangeError(`backward() got ${handles.length} tensors and ${weights.length} gradients`);
  native.backward(handles, weights, false, null);
}

/**
 * Gradients of `outputs` with respect to `inputs`, without touching any `.grad`; null for an input that they do not
 * depend on. `gradients` weighs the outputs and may be left out for scalars.
 */
export function grad(
  outputs: readonly Tensor[],
  inputs: readonly Tensor[],
  gradients?: readonly Tensor[],
  options: { retainGraph?: boolean; createGraph?: boolean } = {},
): (Tensor | null)[] {
  const outputHandles = liveHandles(outputs, 'outputs');
  const inputHandles = liveHandles(inputs, 'inputs');
  const weights = gradients ? liveHandles(gradients, 'gradients') : outputHandles.map(() => null);
  if (outputHandles.length === 0 || inputHandles.length === 0)
    throw new RangeError('grad() needs outputs and inputs');
  if (weights.length !== outputHandles.length)
    throw new RangeError(`grad() got ${outputHandles.length} outputs and ${weights.length} gradients`);
  return native
    .grad(
      outputHandles,
      inputHandles,
      weights,
      options.retainGraph ?? options.createGraph ?? false,
      options.createGraph ?? false,
    )
    .map((handle) => handle && new Tensor(handle));
}

/** Marks a tensor that backward passes come by: see `Tensor.backward`. Nothing for one without a gradient. */
export function mark(tensor: Tensor): void {
  native.mark(liveHandle(tensor, 'the tensor'));
}

/**
 * @internal From now on a backward pass adds the gradient of `parameter`, a leaf, to `sum`, of the same shape and any
 * precision, and frees it at once; null ends that.
 */
export function sumGradients(parameter: Tensor, sum: Tensor | null): void {
  native.sumGradients(liveHandle(parameter, 'the parameter'), sum && liveHandle(sum, 'the sum'));
}

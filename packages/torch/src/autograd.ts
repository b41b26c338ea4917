import { native } from './native.js';
import { refusePromise } from './promise.js';
import { liveHandle, Tensor } from './tensor.js';

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

/** Like `noGrad`, and cheaper: what is made inside can never take part in a backward pass. */
export function inferenceMode<T>(body: () => T): T {
  native.enterInference();
  try {
    return refusePromise('inferenceMode', body(), modeEnds);
  } finally {
    native.leaveInference();
  }
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
  if (outputs.length === 0 || inputs.length === 0) throw new RangeError('grad() needs outputs and inputs');
  if (gradients && gradients.length !== outputs.length)
    throw new RangeError(`grad() got ${outputs.length} outputs and ${gradients.length} gradients`);
  return native
    .grad(
      outputs.map((t, i) => liveHandle(t, `outputs[${i}]`)),
      inputs.map((t, i) => liveHandle(t, `inputs[${i}]`)),
      gradients ? gradients.map((t, i) => liveHandle(t, `gradients[${i}]`)) : outputs.map(() => null),
      options.retainGraph ?? options.createGraph ?? false,
      options.createGraph ?? false,
    )
    .map((handle) => handle && new Tensor(handle));
}

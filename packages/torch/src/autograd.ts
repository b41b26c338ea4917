import { native } from './native.js';
import { handleOf, Tensor } from './tensor.js';

/** Runs `body` without recording operations for the backward pass. */
export function noGrad<T>(body: () => T): T {
  const before = native.setGradMode(false);
  try {
    return refusePromise('noGrad', body());
  } finally {
    native.setGradMode(before);
  }
}

/** Like `noGrad`, and cheaper: what is made inside can never take part in a backward pass. */
export function inferenceMode<T>(body: () => T): T {
  native.enterInference();
  try {
    return refusePromise('inferenceMode', body());
  } finally {
    native.leaveInference();
  }
}

// The mode belongs to the thread: after an await it would have ended already.
function refusePromise<T>(name: string, result: T): T {
  if (result instanceof Promise)
    throw new TypeError(`${name}() was given an async function: the mode ends at its first await`);
  return result;
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
  return native
    .grad(
      outputs.map(handleOf),
      inputs.map(handleOf),
      gradients ? gradients.map(handleOf) : outputs.map(() => null),
      options.retainGraph ?? options.createGraph ?? false,
      options.createGraph ?? false,
    )
    .map((handle) => handle && new Tensor(handle));
}

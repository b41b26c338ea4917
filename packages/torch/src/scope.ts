import { refusePromise } from './promise.js';

interface Disposable {
  dispose(): void;
  /** @internal The garbage collector alone frees it from now on. */
  charge(): void;
}

/** Tensors made inside the running `tidy` calls, innermost last. */
const scopes: Disposable[][] = [];

/** @internal Called for every new tensor. */
export function adopt(tensor: Disposable): void {
  const scope = scopes.at(-1);
  if (scope) scope.push(tensor);
  else tensor.charge();
}

/**
 * Runs `body` and disposes every tensor made in it, save those in its result (a tensor, or arrays, plain objects
 * and maps of them) and those given to `keep`. What is returned belongs to the scope outside.
 *
 * Refuses a promise: tensors made after an `await` would belong to the scope that runs then.
 */
export function tidy<T>(body: () => T): T {
  const scope: Disposable[] = [];
  scopes.push(scope);
  let survivors: Set<unknown> | undefined;
  try {
    const result = refusePromise('tidy', body(), 'its tensors cannot be tracked across an await');
    survivors = tensorsIn(result);
    return result;
  } finally {
    scopes.pop();
    for (const tensor of scope) {
      if (survivors?.has(tensor)) adopt(tensor);
      else tensor.dispose();
    }
  }
}

/** Takes a tensor out of the running scopes: it lives until its owner disposes it, and does not drive the collector. */
export function keep<T extends Disposable>(tensor: T): T {
  for (const scope of scopes) {
    const index = scope.lastIndexOf(tensor);
    if (index >= 0) scope.splice(index, 1);
  }
  return tensor;
}

function tensorsIn(value: unknown): Set<unknown> {
  const found = new Set<unknown>();
  collect(value, found);
  return found;
}

function collect(value: unknown, into: Set<unknown>): void {
  if (typeof value !== 'object' || value === null || into.has(value)) return;
  into.add(value);
  if (Array.isArray(value)) for (const element of value) collect(element, into);
  else if (value instanceof Map) for (const element of value.values()) collect(element, into);
  else if (Object.getPrototypeOf(value) === Object.prototype)
    for (const element of Object.values(value)) collect(element, into);
}

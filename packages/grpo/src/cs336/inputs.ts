import { Tensor } from '@grpo/torch';

/**
 * Narrows options to ones that have these inputs.
 *
 * @param where - the function that was called, and how
 * @throws TypeError naming every input that is missing
 */
export function demand<Options extends object, Name extends keyof Options & string>(
  where: string,
  options: Options,
  ...names: Name[]
): asserts options is Options & { [K in Name]-?: NonNullable<Options[K]> } {
  const given: Partial<Options> = options ?? {};
  const missing = names.filter((name) => given[name] === undefined || given[name] === null);
  if (missing.length > 0) throw new TypeError(`${where} needs ${missing.join(', ')}: not given`);
}

/**
 * Tensors by their names, all of one shape. Broadcasting would make `[B]` with `[B, S]` pass where B = S, and pair each
 * token with the wrong value.
 *
 * @throws TypeError for what is no tensor, RangeError for another shape
 */
export function requireShape(where: string, shape: readonly number[], tensors: Record<string, Tensor>): void {
  for (const [name, tensor] of Object.entries(tensors)) {
    if (!(tensor instanceof Tensor)) throw new TypeError(`${where}: ${name} must be a tensor of @grpo/torch`);
    if (`${tensor.shape}` === `${shape}`) continue;
    throw new RangeError(`${where}: ${name} must have the shape [${shape}], it has [${tensor.shape}]`);
  }
}

/** The sizes of policyLogProbs, `[B, S]`. */
export function batchShape(where: string, policyLogProbs: Tensor): readonly [number, number] {
  if (!(policyLogProbs instanceof Tensor))
    throw new TypeError(`${where}: policyLogProbs must be a tensor of @grpo/torch`);
  const [batch, length, ...more] = policyLogProbs.shape;
  if (batch !== undefined && length !== undefined && more.length === 0) return [batch, length];
  throw new RangeError(`${where}: policyLogProbs must be [B, S], it has the shape [${policyLogProbs.shape}]`);
}

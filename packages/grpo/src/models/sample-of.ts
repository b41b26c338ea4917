import type { Tensor } from '@grpo/torch';

/** Sampled elements per tensor, enough to notice a change of weights, which changes most of them. */
const ELEMENTS = 256;

/**
 * A view of every n-th element, the first of each run of n: about `wanted` of them. n is odd, so that the elements of a
 * matrix come from all of its columns.
 */
export function sampleOf(tensor: Tensor, wanted = ELEMENTS): Tensor {
  const { numel } = tensor;
  const most = Math.max(1, Math.floor(numel / wanted));
  const every = most - (1 - (most % 2));
  const count = Math.floor(numel / every);
  const flat = tensor.detach().reshape([numel]);
  if (every === 1) return flat;
  return flat
    .narrow(0, 0, count * every)
    .reshape([count, every])
    .select(1, 0);
}

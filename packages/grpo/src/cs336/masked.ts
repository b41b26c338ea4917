import { type Tensor, tidy } from '@grpo/torch';
import { demand, requireShape } from './inputs.js';

export interface MaskedMeanOptions {
  /** Of any shape. */
  tensor: Tensor;
  /** True or 1 for the elements that count; the shape of `tensor`. */
  mask: Tensor;
  /** The dimension to reduce, negative counts from the last; all of them when left out. */
  dim?: number | undefined;
}

/**
 * The mean of the elements that the mask keeps; NaN where it keeps none. What is left out may be NaN or infinite.
 *
 * @returns a scalar, or `tensor`'s shape without `dim`
 * @throws TypeError naming a missing input; RangeError when the shapes differ
 *
 * @example
 * import { tensor } from '@grpo/torch';
 * import { maskedMean } from 'grpo/cs336';
 *
 * const values = tensor([2, 2, 2, 2, 2, 2], [2, 3]);
 * const mask = tensor([1, 1, 0, 1, 1, 1], [2, 3]);
 * console.log(maskedMean({ tensor: values, mask, dim: 1 }).toNumbers()); // [2, 2]
 */
export function maskedMean(options: MaskedMeanOptions): Tensor {
  return tidy(() => {
    const sum = maskedSum('maskedMean', options);
    // Counted as integers: half precision could not count beyond a few hundred.
    return sum.div(reduce(options.mask.to('bool'), options.dim));
  });
}

export interface MaskedNormalizeOptions extends MaskedMeanOptions {
  /** What the sums are divided by; 1 when left out. */
  normalizeConstant?: number | undefined;
}

/**
 * The sum of the elements that the mask keeps, over a constant. In a loss each token then weighs the same, where
 * {@link maskedMean} gives each token of a short completion more.
 *
 * @returns a scalar, or `tensor`'s shape without `dim`
 * @throws TypeError naming a missing input; RangeError when the shapes differ
 *
 * @example
 * import { tensor } from '@grpo/torch';
 * import { maskedNormalize } from 'grpo/cs336';
 *
 * const values = tensor([2, 2, 2, 2, 2, 2], [2, 3]);
 * const mask = tensor([1, 1, 0, 1, 1, 1], [2, 3]);
 * const options = { tensor: values, mask, dim: 1, normalizeConstant: 4 };
 * console.log(maskedNormalize(options).toNumbers()); // [1, 1.5]
 */
export function maskedNormalize(options: MaskedNormalizeOptions): Tensor {
  return tidy(() => maskedSum('maskedNormalize', options).div(options.normalizeConstant ?? 1));
}

function maskedSum(where: string, options: MaskedMeanOptions): Tensor {
  demand(where, options, 'tensor', 'mask');
  const { tensor, mask, dim } = options;
  requireShape(where, tensor.shape, { tensor, mask });
  return reduce(tensor.maskedFill(mask.to('bool').logicalNot(), 0), dim);
}

const reduce = (tensor: Tensor, dim: number | undefined): Tensor =>
  dim === undefined ? tensor.sum() : tensor.sumDim([dim]);

import { noGrad } from './autograd.js';
import { provideComposite } from './dispatch.js';
import * as ops from './generated/ops.js';
import type { Tensor } from './tensor.js';

/**
 * Operators that libtorch 1.13 lacks, composed of ones that it has. One table: what is not here is not replaced.
 * Each takes the arguments as the typed operator does.
 */
const composites: Record<string, (...args: never[]) => unknown> = {
  'aten::rms_norm': (
    input: Tensor,
    shape: readonly number[],
    weight?: Tensor | null,
    eps?: number | null,
  ) => {
    const dims = shape.map((_, i) => i - shape.length);
    const wide = input.to('float32');
    const normed = wide
      .mul(
        wide
          .mul(wide)
          .meanDim(dims, true)
          .add(eps ?? 1.1920929e-7)
          .rsqrt(),
      )
      .to(input.dtype);
    return weight ? normed.mul(weight) : normed;
  },

  'aten::scaled_dot_product_attention': (
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask?: Tensor | null,
    _dropout?: number,
    causal?: boolean,
    options?: { scale?: number | null },
  ) => {
    const scores = query.matmul(key.transpose(-2, -1)).mul(options?.scale ?? 1 / Math.sqrt(query.size(-1)));
    return masked(scores, mask, causal ?? false)
      .softmax(-1)
      .matmul(value);
  },

  'aten::_fused_adamw_': (
    self: Tensor[],
    grads: Tensor[],
    expAvgs: Tensor[],
    expAvgSqs: Tensor[],
    _maxExpAvgSqs: Tensor[],
    steps: Tensor[],
    o: { lr: number; beta1: number; beta2: number; weight_decay: number; eps: number },
  ) =>
    noGrad(() => {
      for (const [i, parameter] of self.entries()) {
        const step = steps[i]!.item();
        const gradient = grads[i]!;
        const mean = expAvgs[i]!.mul_(o.beta1).add_(gradient, { alpha: 1 - o.beta1 });
        const square = expAvgSqs[i]!.mul_(o.beta2).add_(gradient.mul(gradient), { alpha: 1 - o.beta2 });
        const denominator = square
          .sqrt()
          .div_(Math.sqrt(1 - o.beta2 ** step))
          .add_(o.eps);
        parameter
          .mul_(1 - o.lr * o.weight_decay)
          .sub_(mean.div(denominator), { alpha: o.lr / (1 - o.beta1 ** step) });
      }
    }),
};

function masked(scores: Tensor, mask: Tensor | null | undefined, causal: boolean): Tensor {
  if (causal) {
    const [rows, columns] = [scores.size(-2), scores.size(-1)];
    const allowed = ops.ones([rows, columns], { dtype: 'bool', device: scores.device }).tril();
    return scores.maskedFill(allowed.logicalNot(), Number.NEGATIVE_INFINITY);
  }
  if (!mask) return scores;
  return mask.dtype === 'bool'
    ? scores.maskedFill(mask.logicalNot(), Number.NEGATIVE_INFINITY)
    : scores.add(mask);
}

for (const [name, composite] of Object.entries(composites)) provideComposite(name, composite);

/** Names of the operators that have a stand-in. */
export const compositeNames: readonly string[] = Object.keys(composites);

/** The stand-in for an operator, for comparing it with libtorch's own. */
export const compositeOf = (name: string) => composites[name] as (...args: unknown[]) => unknown;

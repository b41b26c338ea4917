import { noGrad } from './autograd.js';
import { provideComposite } from './dispatch.js';
import * as ops from './generated/ops.js';
import type { Tensor } from './tensor.js';

interface AdamWNumbers {
  lr: number;
  beta1: number;
  beta2: number;
  weight_decay: number;
  eps: number;
  amsgrad: boolean;
  maximize: boolean;
  grad_scale?: Tensor | null;
  found_inf?: Tensor | null;
}

/**
 * Operators that libtorch 1.13 lacks, composed of ones that it has. One table: other operators are not replaced.
 * Each takes the arguments as the typed operator does, and refuses those that it does not follow.
 */
const composites: Record<string, (...args: never[]) => unknown> = {
  'aten::scaled_dot_product_attention': (
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask?: Tensor | null,
    dropout?: number,
    causal?: boolean,
    options?: { scale?: number | null; enable_gqa?: boolean },
  ) => {
    if (dropout) throw new RangeError('dropout is not in this stand-in');
    const groups = options?.enable_gqa ? query.size(-3) / key.size(-3) : 1;
    const heads = (t: Tensor) => (groups === 1 ? t : t.repeatInterleave(groups, -3));
    const scale = options?.scale ?? 1 / Math.sqrt(query.size(-1));
    const scores = widened(query)
      .mul(scale)
      .matmul(widened(heads(key)).transpose(-2, -1));
    const past = causal ? hideFuture(scores) : scores;
    const weights = mask ? maskedSoftmax(past, mask) : past.softmax(-1);
    return weights.matmul(widened(heads(value))).to(query.dtype);
  },

  'aten::_fused_adamw_': (
    self: Tensor[],
    grads: Tensor[],
    expAvgs: Tensor[],
    expAvgSqs: Tensor[],
    _maxExpAvgSqs: Tensor[],
    steps: Tensor[],
    o: AdamWNumbers,
  ) =>
    noGrad(() => {
      if (o.amsgrad || o.maximize || o.grad_scale || o.found_inf)
        throw new RangeError('amsgrad, maximize, grad_scale and found_inf are not in this stand-in');
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

/** Half precision is summed in float32, as libtorch's own kernels do. */
const widened = (t: Tensor) => (t.dtype === 'bfloat16' || t.dtype === 'float16' ? t.to('float32') : t);

/** A query attends to the keys up to its own index. */
function hideFuture(scores: Tensor): Tensor {
  const size = [scores.size(-2), scores.size(-1)];
  const past = ops.ones(size, { dtype: 'bool', device: scores.device }).tril();
  return scores.maskedFill(past.logicalNot(), Number.NEGATIVE_INFINITY);
}

/** A query that may attend to nothing gets zeros, not NaN. */
function maskedSoftmax(scores: Tensor, mask: Tensor): Tensor {
  const hidden =
    mask.dtype === 'bool' ? scores.maskedFill(mask.logicalNot(), Number.NEGATIVE_INFINITY) : scores.add(mask);
  const alone = hidden.detach().amax([-1], true).eq(Number.NEGATIVE_INFINITY);
  return hidden.maskedFill(alone, 0).softmax(-1).maskedFill(alone, 0);
}

for (const [name, composite] of Object.entries(composites)) provideComposite(name, composite);

/** Names of the operators that have a stand-in. */
export const compositeNames: readonly string[] = Object.keys(composites);

/** The stand-in for an operator, for comparing it with libtorch's own. */
export const compositeOf = (name: string) => composites[name] as (...args: unknown[]) => unknown;

import { describe, expect, it } from 'vitest';
import { compositeNames, compositeOf } from './composites.js';
import { DEVICE, ones, tensor, zeros } from './device.test.helper.js';
import { resolveOperator } from './dispatch.js';
import * as torch from './index.js';

const { grad, scaledDotProductAttention, fusedAdamW_ } = torch;

type Options = Parameters<typeof fusedAdamW_>[6];

/** Deterministic numbers in [-1, 1]. */
function numbers(shape: number[], seed: number, dtype: torch.DType = 'float32'): torch.Tensor {
  const count = shape.reduce((a, b) => a * b, 1);
  return tensor(
    Array.from({ length: count }, (_, i) => Math.sin(1.7 * i + 12.9898 * seed)),
    shape,
    { dtype },
  );
}

const distance = (a: torch.Tensor, b: torch.Tensor) =>
  a.numel === 0 ? 0 : a.to('float64').sub(b.to('float64')).abs().amax([]).item();

/** Calls both with equal arguments and compares values and the gradients of all inputs. */
function compare(
  ours: (...inputs: torch.Tensor[]) => torch.Tensor,
  own: (...inputs: torch.Tensor[]) => torch.Tensor,
  inputs: torch.Tensor[],
  tolerance: number,
): void {
  for (const input of inputs) input.requiresGrad = true;
  const [a, b] = [ours(...inputs), own(...inputs)];
  expect([a.shape, a.dtype]).toEqual([b.shape, b.dtype]);
  expect(distance(a, b)).toBeLessThanOrEqual(tolerance);
  const weight = numbers([...a.shape], 50, a.dtype);
  const gradientsA = grad([a.mul(weight).sum()], inputs);
  const gradientsB = grad([b.mul(weight).sum()], inputs);
  for (const [i, gradient] of gradientsA.entries()) {
    expect(distance(gradient!, gradientsB[i]!)).toBeLessThanOrEqual(tolerance * 4);
  }
}

const missing = compositeNames.some((name) => !resolveOperator(name));

describe.skipIf(missing)("stand-ins equal libtorch's own operators (skipped where it has none)", () => {
  const attention = compositeOf('aten::scaled_dot_product_attention') as typeof scaledDotProductAttention;
  const qkv = (dtype?: torch.DType, kvHeads = 4) => [
    numbers([2, 4, 5, 8], 1, dtype),
    numbers([2, kvHeads, 5, 8], 2, dtype),
    numbers([2, kvHeads, 5, 8], 3, dtype),
  ];
  type Rest = [
    mask?: torch.Tensor | null,
    dropout?: number,
    causal?: boolean,
    options?: { scale?: number | null; enable_gqa?: boolean },
  ];
  const keys = ones([5, 5], { dtype: 'bool' }).tril();
  const cases: [name: string, rest: Rest, kvHeads?: number][] = [
    ['plain', []],
    ['causal', [null, 0, true]],
    ['bool mask', [keys]],
    ['float mask', [numbers([5, 5], 9)]],
    ['mask and causal', [numbers([5, 5], 9), 0, true]],
    ['a query that sees nothing', [keys.logicalAnd(torch.arange(0, 5, 1, { device: DEVICE }).ge(1))]],
    ['scale', [null, 0, false, { scale: 0.3 }]],
    ['grouped queries', [null, 0, true, { enable_gqa: true }], 2],
  ];

  it.each(cases)('attention: %s', (_, rest, kvHeads) => {
    const call = (f: typeof attention) => (q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) =>
      f(q, k, v, ...rest);
    compare(
      call(attention) as never,
      call(scaledDotProductAttention) as never,
      qkv('float32', kvHeads),
      1e-6,
    );
  });

  it.each([
    ['bfloat16', 2 ** -7],
    ['float64', 1e-14],
  ] as const)('attention in %s', (dtype, tolerance) => {
    const call = (f: typeof attention) => (q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) =>
      f(q, k, v, null, 0, true);
    compare(call(attention) as never, call(scaledDotProductAttention) as never, qkv(dtype), tolerance);
  });

  it('fused AdamW over five steps', () => {
    const ours = adamW(compositeOf('aten::_fused_adamw_') as typeof fusedAdamW_);
    const own = adamW(fusedAdamW_);
    for (const [name, t] of Object.entries(ours)) {
      expect(distance(t, own[name as keyof typeof own])).toBeLessThan(1e-6);
    }
  });
});

const options: Options = {
  lr: 0.1,
  beta1: 0.9,
  beta2: 0.99,
  weight_decay: 0.1,
  eps: 1e-8,
  amsgrad: false,
  maximize: false,
};

/** Five steps whose gradients are known numbers. */
function adamW(step: typeof fusedAdamW_) {
  const parameter = numbers([7], 1);
  const [mean, square, count] = [zeros([7]), zeros([7]), zeros([])];
  for (let i = 0; i < 5; i++) {
    count.add_(1);
    step([parameter], [numbers([7], 10 + i)], [mean], [square], [], [count], options);
  }
  return { parameter, mean, square };
}

describe('the typed operators, on any libtorch', () => {
  it('AdamW follows its formula', () => {
    const parameter = numbers([7], 1).toNumbers();
    const [m, v] = [Array(7).fill(0), Array(7).fill(0)];
    for (let i = 0; i < 5; i++) {
      numbers([7], 10 + i)
        .toNumbers()
        .forEach((g, k) => {
          m[k] = 0.9 * m[k] + 0.1 * g;
          v[k] = 0.99 * v[k] + 0.01 * g * g;
          const update = m[k] / (1 - 0.9 ** (i + 1)) / (Math.sqrt(v[k] / (1 - 0.99 ** (i + 1))) + 1e-8);
          parameter[k] = parameter[k]! * (1 - 0.1 * 0.1) - 0.1 * update;
        });
    }
    const found = adamW(fusedAdamW_).parameter.toNumbers();
    expect(Math.max(...found.map((x, k) => Math.abs(x - parameter[k]!)))).toBeLessThan(1e-6);
  });

  it('attention hides the future and gives zeros to a query that sees nothing', () => {
    const [q, k] = [zeros([1, 1, 2, 1]), zeros([1, 1, 2, 1])];
    const v = tensor([2, 4], [1, 1, 2, 1]);
    expect(scaledDotProductAttention(q, k, v, null, 0, true).toNumbers()).toEqual([2, 3]);
    const nothing = tensor([0, 0, 0, 1], [2, 2], { dtype: 'bool' });
    expect(scaledDotProductAttention(q, k, v, nothing).toNumbers()).toEqual([0, 4]);
  });

  it('refuse what does not fit', () => {
    const q = ones([1, 1, 2, 4]);
    expect(() => scaledDotProductAttention(q, q, q, ones([3, 3]))).toThrow(
      /^aten::scaled_dot_product_attention: /,
    );
  });

  it('leave no tensors behind', () => {
    torch.tidy(() => {
      const q = ones([1, 1, 2, 4]);
      const before = torch.memory().tensors;
      scaledDotProductAttention(q, q, q).dispose();
      // The collector may take those of other tests meanwhile.
      expect(torch.memory().tensors).toBeLessThanOrEqual(before);
    });
  });
});

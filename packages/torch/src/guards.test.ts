import { describe, expect, it } from 'vitest';
import * as torch from './index.js';

const { ones, tensor, zeros } = torch;

/** Calls that TypeScript would refuse. */
const untyped = (call: unknown) => call as (...args: unknown[]) => unknown;

const one = (size = 4) => [zeros([size])];

/** One AdamW step of a tensor of four, with some arguments changed. */
const adamW = (changes: Record<string, unknown>) => () => {
  const lists = { self: one(), grads: one(), exp_avgs: one(), exp_avg_sqs: one(), max_exp_avg_sqs: [] };
  const options = { lr: 1, beta1: 0, beta2: 0, weight_decay: 0, eps: 1, amsgrad: false, maximize: false };
  const given = { ...lists, state_steps: [ones([])], ...options, ...changes };
  const values = Object.entries(given);
  untyped(torch.fusedAdamW_)(
    ...values.slice(0, 6).map(([, list]) => list),
    Object.fromEntries(values.slice(6)),
  );
};

describe('what libtorch would crash on, or read and write beyond its tensors for, is refused', () => {
  const q = ones([1, 4, 2, 8]);
  const cases: [what: string, call: () => unknown, text: RegExp][] = [
    ['a negative size', () => ones([1]).expand([0, -3, 5]), /size 1 must be at least 0, found -3/],
    ['a size kept that is not there', () => ones([]).expand([1, 0, -1]), /size 2 must be at least 0/],
    ['attention with no key heads', () => attend(ones([1, 0, 2, 8])), /a multiple of those of key/],
    [
      'attention with heads that do not divide',
      () => attend(ones([1, 3, 2, 8])),
      /a multiple of those of key/,
    ],
    [
      'a long range in half precision',
      () => torch.arange(0, 2 ** 31, 5, { dtype: 'bfloat16' }),
      /429496730 elements are too many in bfloat16/,
    ],
    [
      'a range as long as 64 bits',
      () => torch.arange(2n ** 63n - 1n, -1, -1),
      /9223372036854776000 elements are too many/,
    ],
    [
      'indices that sort',
      () => torch.searchsorted(ones([3]), ones([2]), { sorter: tensor([9, 0, 1], [3], { dtype: 'int64' }) }),
      /sorter cannot be given/,
    ],
    [
      'a number as the tensor of a reduction',
      () => untyped(torch.amax)(0.5, [], true),
      /'self' must be a tensor/,
    ],
    ['a number to write into', () => untyped(torch.add_)(1, ones([2])), /'self' must be a tensor/],
    ['a device that holds no memory', () => ones([2], { device: 'meta' }), /unknown device 'meta'/],
    ['another layout', () => untyped(ones)([2], { layout: 1 }), /strided and row-major/],
    ['another memory format', () => untyped(torch.clone)(q, { memory_format: 99 }), /strided and row-major/],
    ['a list of four billion holes', () => ones(new Array(2 ** 32 - 1)), /element 0 of a list of 4294967295/],
    ['a shape of four billion holes', () => tensor([1], new Array(2 ** 32 - 1)), /a shape is an array/],
    ['a size beyond 2^53', () => untyped(ones)([2n ** 62n]), /must be an integer within/],
    ['a shorter list in AdamW', adamW({ grads: [] }), /grads has 0 tensors for 1 parameters/],
    [
      'another shape in AdamW',
      adamW({ exp_avgs: one(3) }),
      /exp_avgs\[0\] is float32\[3\], its parameter float32\[4\]/,
    ],
    ['no list in AdamW', adamW({ exp_avg_sqs: zeros([4]) }), /exp_avg_sqs must be a list of tensors/],
    ['no maxima in AdamW', adamW({ amsgrad: true }), /max_exp_avg_sqs has 0 tensors/],
    ['repeated memory in AdamW', adamW({ self: [ones([1]).expand([4])] }), /self\[0\] is not contiguous/],
    ['steps of another type in AdamW', adamW({ state_steps: [ones([], { dtype: 'int64' })] }), /state_steps/],
    ['a scale in AdamW', adamW({ grad_scale: ones([0]) }), /grad_scale and found_inf/],
  ];

  function attend(keys: torch.Tensor) {
    return torch.scaledDotProductAttention(q, keys, keys, null, 0, false, { enable_gqa: true });
  }

  it.each(cases)('%s', (_, call, text) => {
    expect(call).toThrow(text);
  });

  it('and what is right is not', () => {
    adamW({})();
    expect(attend(ones([1, 2, 2, 8])).shape).toEqual([1, 4, 2, 8]);
    expect(torch.arange(0, 5, 2, { dtype: 'bfloat16' }).toNumbers()).toEqual([0, 2, 4]);
    expect(ones([2, 1]).expand([3, -1, 4]).shape).toEqual([3, 2, 4]);
  });
});

describe('an index outside of a tensor is an error, on whichever side', () => {
  const x = tensor([1, 2, 3, 4, 5, 6], [3, 2]);
  const at = (...values: number[]) => tensor(values, [values.length], { dtype: 'int64' });
  const byIndex: [name: string, call: (index: torch.Tensor) => unknown][] = [
    ['indexSelect', (index) => x.indexSelect(0, index)],
    ['gather', (index) => x.gather(0, index.unsqueeze(1))],
    ['scatterAdd_', (index) => x.clone().scatterAdd_(0, index.unsqueeze(1), ones([1, 1]))],
    ['embedding', (index) => torch.embedding(x, index)],
    ['select', (index) => x.select(0, index.item())],
    ['narrow', (index) => x.narrow(0, index.item(), 1)],
  ];

  it.each(byIndex)('%s', (name, call) => {
    for (const index of [0, 2]) call(at(index));
    for (const index of [3, -4, 2 ** 40, -(2 ** 40)])
      expect(() => call(at(index)), `${name} ${index}`).toThrow(/index|range|start/i);
    // Indices from the end are valid only where a dimension is meant.
    if (name !== 'select' && name !== 'narrow') expect(() => call(at(-1))).toThrow(/index|range/i);
  });

  it('lengths and counts too', () => {
    expect(() => x.narrow(0, 1, 3)).toThrow(/exceeds/);
    expect(() => x.topk(3, 1)).toThrow(/out of range/);
    expect(() => x.splitWithSizes([1, 3])).toThrow(/sum/);
    expect(() => x.flatten(0, 5)).toThrow(/out of range/);
  });
});

import { describe, expect, it } from 'vitest';
import * as torch from './index.js';

const { tensor, unsafe } = torch;

describe('a call by schema', () => {
  const x = tensor([1, 2, 3, 4], [2, 2]);

  it('takes arguments by position, by keyword and from the defaults', () => {
    expect(torch.add(x, x).toNumbers()).toEqual([2, 4, 6, 8]);
    expect(torch.add(x, x, { alpha: 10 }).toNumbers()).toEqual([11, 22, 33, 44]);
    expect(unsafe.call('aten::sum.dim_IntList', x, { dim: [0], keepdim: true })).toMatchObject({
      shape: [1, 2],
    });
    expect(x.softmax(-1, undefined).dtype).toBe('float32');
  });

  it('spreads one number over a list of fixed length', () => {
    expect(unsafe.call('aten::sum.dim_IntList', x, 0)).toMatchObject({ shape: [2] });
    const image = torch.ones([1, 1, 4, 4]);
    expect(unsafe.call('aten::avg_pool2d', image, 2)).toMatchObject({ shape: [1, 1, 2, 2] });
  });

  it('takes lists with holes for optional tensors', () => {
    const rows = tensor(new BigInt64Array([1n, 0n]));
    const picked = unsafe.call('aten::index.Tensor', x, [null, rows]) as torch.Tensor;
    expect(picked.toNumbers()).toEqual([2, 1, 4, 3]);
  });

  it('keeps the kind of a scalar', () => {
    const whole = tensor([7, 8], [2], { dtype: 'int64' });
    expect(whole.add(1).dtype).toBe('int64');
    expect(whole.add(0.5).dtype).toBe('float32');
    expect(torch.full([1], 3).dtype).toBe('int64');
    expect(torch.full([1], 2.5).dtype).toBe('float32');
    expect(torch.full([1], true).dtype).toBe('bool');
    expect(torch.full([1], 2n ** 62n).toTypedArray()).toEqual(new BigInt64Array([2n ** 62n]));
    // A number beside a tensor never widens it.
    expect(tensor([1], [1], { dtype: 'bfloat16' }).mul(1.5).dtype).toBe('bfloat16');
  });

  it('takes dtypes and devices by name, and strings', () => {
    const made = torch.zeros([2], { dtype: 'float64', device: 'cpu' });
    expect([made.dtype, made.device]).toEqual(['float64', 'cpu']);
    expect(x.toDeviceAs('cpu', 'bfloat16').dtype).toBe('bfloat16');
    expect(x.sum({ dtype: 'float64' }).dtype).toBe('float64');
    const [exact, approximate] = [tensor([1]).gelu(), tensor([1]).gelu({ approximate: 'tanh' })];
    expect(exact.item()).toBeCloseTo(0.8413447, 6);
    expect(approximate.item()).toBeCloseTo(0.841192, 6);
  });

  it('takes a generator', () => {
    const draw = () => torch.empty([3]).uniform_(0, 1, { generator: new torch.Generator(0) });
    expect(draw().toNumbers()).toEqual(draw().toNumbers());
  });

  it('gives several results as an array', () => {
    const [values, indices] = tensor([3, 1, 2]).sort(0, true);
    expect(values.toNumbers()).toEqual([3, 2, 1]);
    expect(indices.toNumbers()).toEqual([0, 2, 1]);
    expect(x.splitWithSizes([1, 1]).map((t) => t.toNumbers())).toEqual([
      [1, 2],
      [3, 4],
    ]);
  });

  it('returns the very object that an in-place operator was called on', () => {
    torch.tidy(() => {
      const y = torch.ones([2]);
      const before = torch.memory().tensors;
      expect(y.add_(1)).toBe(y);
      expect(torch.copy_(y, torch.zeros([2]))).toBe(y);
      expect(y.shape).toEqual([2]);
      expect(unsafe.call('aten::unsqueeze_', y, 0)).toBe(y);
      expect(y.shape).toEqual([1, 2]);
      expect(torch.memory().tensors).toBe(before + 1); // the zeros
      expect(y.toNumbers()).toEqual([0, 0]);
    });
    expect(torch.foreachMul_([x.clone()], 2)).toBeUndefined();
  });
});

import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { ones, type Tensor, tensor, unsafe, zeros } from './index.js';

describe('item', () => {
  it('reads one element of any shape', () => {
    expect(tensor([4], [1, 1]).item()).toBe(4);
    expect(tensor([1], [1], { dtype: 'bool' }).item()).toBe(1);
  });

  it('refuses none and several', () => {
    expect(() => zeros([0]).item()).toThrow('item() needs one element, the tensor has shape [0]');
    expect(() => zeros([2, 1]).item()).toThrow('the tensor has shape [2,1]');
  });
});

describe('size', () => {
  it('counts from both ends and refuses what is beyond', () => {
    const t = zeros([2, 3]);
    expect([t.size(0), t.size(-1)]).toEqual([2, 3]);
    expect(() => t.size(2)).toThrow('dimension 2 of a tensor of shape [2,3]');
  });
});

describe('a disposed tensor', () => {
  const gone = ones([2]);
  gone.dispose();
  const uses: [string, (t: Tensor) => unknown][] = [
    ['shape', (t) => t.shape],
    ['dtype', (t) => t.dtype],
    ['device', (t) => t.device],
    ['item', (t) => t.item()],
    ['toBytes', (t) => t.toBytes()],
    ['toTypedArray', (t) => t.toTypedArray()],
    ['toDevice', (t) => t.toDevice('cpu')],
    ['requiresGrad', (t) => t.requiresGrad],
    ['grad', (t) => t.grad],
    ['backward', (t) => t.backward()],
  ];
  it.each(uses)('says so: %s', (_, use) => {
    expect(() => use(gone)).toThrow(/^the tensor is disposed$/);
  });
});

describe('as text', () => {
  it('shows dtype and shape, and few values when inspected', () => {
    const t = tensor([1, 2.5, -3], [3, 1]);
    expect(`${t}`).toBe('float32[3,1]');
    expect(inspect(t)).toBe('Tensor float32[3,1] [1, 2.5, -3]');
    expect(inspect(tensor(7, [], { dtype: 'bfloat16' }))).toBe('Tensor bfloat16[] [7]');
    expect(inspect({ t: zeros([3, 3]) })).toBe('{ t: Tensor float32[3,3] }');
  });

  it('works for what has no values or no name here', () => {
    const gone = ones([1]);
    gone.dispose();
    expect([`${gone}`, inspect(gone)]).toEqual(['disposed tensor', 'Tensor (disposed)']);
    const complex = unsafe.call('aten::complex', ones([2]), ones([2])) as Tensor;
    expect(inspect(complex)).toBe('Tensor scalar type 9[2]');
    expect(() => complex.dtype).toThrow('tensors of scalar type 9 are not supported');
    const sparse = unsafe.call('aten::to_sparse', tensor([0, 2])) as Tensor;
    expect(inspect(sparse)).toBe('Tensor float32[2] [0, 2]');
  });
});

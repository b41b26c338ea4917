import { describe, expect, it } from 'vitest';
import {
  byteParts,
  type DType,
  dtypeSize,
  empty,
  fromBytes,
  memory,
  type TypedArray,
  tensor,
  tidy,
} from './index.js';

const untyped = (call: unknown) => call as (...args: unknown[]) => unknown;

describe('typed arrays', () => {
  const arrays: [DType, TypedArray][] = [
    ['float32', new Float32Array([1.5, -2, 0.1])],
    ['float64', new Float64Array([1.5, -2, 0.1])],
    ['int64', new BigInt64Array([1n, -(2n ** 63n), 2n ** 63n - 1n])],
    ['int32', new Int32Array([1, -(2 ** 31), 5])],
    ['int16', new Int16Array([1, -(2 ** 15), 5])],
    ['int8', new Int8Array([1, -128, 127])],
    ['uint8', new Uint8Array([1, 0, 255])],
  ];

  it.each(arrays)('%s goes in and comes out', (dtype, array) => {
    const t = tensor(array);
    expect([t.dtype, t.shape, t.numel]).toEqual([dtype, [3], 3]);
    expect(t.toTypedArray()).toEqual(array);
    expect(t.toBytes().length).toBe(3 * dtypeSize(dtype));
    expect(fromBytes(t.toBytes(), [3], dtype).toTypedArray()).toEqual(array);
  });

  it('are copied, both ways', () => {
    const array = new Float32Array([1, 2]);
    const t = tensor(array);
    array[0] = 9;
    t.toTypedArray()[1] = 9;
    expect(t.toNumbers()).toEqual([1, 2]);
    expect(tensor(array.subarray(1)).toNumbers()).toEqual([2]);
  });

  it('come out row by row, whatever the memory is', () => {
    expect(tensor([1, 2, 3, 4], [2, 2]).t().toNumbers()).toEqual([1, 3, 2, 4]);
    expect(tensor([7]).expand([3]).toNumbers()).toEqual([7, 7, 7]);
  });

  it('half precision is rounded to nearest even and comes out as float32', () => {
    const t = tensor([1 + 2 ** -8, 1 + 3 * 2 ** -8, 65504], [3], { dtype: 'bfloat16' });
    expect(t.toTypedArray()).toEqual(new Float32Array([1, 1 + 2 ** -6, 65536]));
    expect(t.toBytes()).toEqual(new Uint8Array(Uint16Array.of(0x3f80, 0x3f82, 0x4780).buffer));
    expect(tensor([65504], [1], { dtype: 'float16' }).toNumbers()).toEqual([65504]);
  });

  it('whole numbers of any size and sign become int64', () => {
    const all = [0, -1, 2 ** 31, -(2 ** 31), 2 ** 32 + 7, -(2 ** 32) - 7, 2 ** 53 - 1, 1 - 2 ** 53];
    const t = tensor(all, undefined, { dtype: 'int64' });
    expect(t.toTypedArray()).toEqual(BigInt64Array.from(all, BigInt));
  });

  it('bool is 0 and 1, whatever the bytes', () => {
    const t = fromBytes(Uint8Array.of(0, 1, 2, 255), [4], 'bool');
    expect(t.toTypedArray()).toEqual(Uint8Array.of(0, 1, 1, 1));
    expect(t.sum().item()).toBe(3);
    expect(tensor([0, 2, -1], [3], { dtype: 'bool' }).toNumbers()).toEqual([0, 1, 1]);
  });

  it('empty and zero-dimensional', () => {
    expect(tensor([]).shape).toEqual([0]);
    expect(tensor([], [2, 0]).toNumbers()).toEqual([]);
    expect(empty([0, 3]).numel).toBe(0);
    const point = tensor(5);
    expect([point.shape, point.numel, point.item()]).toEqual([[], 1, 5]);
  });

  it('leave nothing behind when they are cast', () => {
    const before = memory();
    tensor([1, 2], [2], { dtype: 'bfloat16' }).dispose();
    expect(memory()).toEqual(before);
    tidy(() => tensor([1], [1], { dtype: 'bfloat16' }).toTypedArray());
    expect(memory()).toEqual(before);
  });
});

describe('what tensor() and fromBytes() refuse', () => {
  const wrong: [data: unknown, shape: unknown, options: unknown, text: string][] = [
    [[[1, 2]], undefined, {}, 'element 0 is [1, 2]; flatten the array and give the shape beside it'],
    [[1, 'a'], undefined, {}, "element 1 is 'a'"],
    [Array(2), undefined, {}, 'element 0 is undefined'],
    ['abc', undefined, {}, "found 'abc'"],
    [null, undefined, {}, 'found null'],
    [[Number.NaN], undefined, { dtype: 'int64' }, 'cannot store element 0, NaN, as int64'],
    [[0.5], undefined, { dtype: 'int32' }, 'cannot store element 0, 0.5, as int32'],
    [[0, 256], undefined, { dtype: 'uint8' }, 'cannot store element 1, 256, as uint8'],
    [[2 ** 53], undefined, { dtype: 'int64' }, 'as int64'],
    [[1, 2], [3], {}, 'needs 12 bytes, the array has 8'],
    [[1], [1], { dtype: 'half' }, "unknown dtype 'half'"],
  ];
  it.each(wrong)('tensor(%j, %j, %j)', (data, shape, options, text) => {
    expect(() => untyped(tensor)(data, shape, options)).toThrow(text);
  });

  const four = new Uint8Array(4);
  const bytes: [data: unknown, shape: unknown, dtype: unknown, text: string][] = [
    [four, [4], 'float32', 'the shape needs 16 bytes, the array has 4'],
    [four, [-1], 'uint8', 'whole numbers, found [-1]'],
    [four, [-2, -2], 'uint8', 'whole numbers, found [-2, -2]'],
    [four, [2 ** 40, 2 ** 40], 'uint8', 'overflow'],
    [four, ['4'], 'uint8', "whole numbers, found ['4']"],
    [four, [Number.NaN], 'uint8', 'whole numbers, found ['],
    [four, [4.5], 'uint8', 'whole numbers, found ['],
    [four, undefined, 'uint8', 'whole numbers, found undefined'],
    [four, [4], 'toString', "unknown dtype 'toString'"],
    [new Float32Array(1), [1], 'float32', 'takes a Uint8Array, found a Float32Array'],
    ['abcd', [4], 'uint8', "takes a Uint8Array, found 'abcd'"],
  ];
  it.each(bytes)('fromBytes(%j, %j, %j)', (data, shape, dtype, text) => {
    expect(() => untyped(fromBytes)(data, shape, dtype)).toThrow(text);
  });
});

describe('parts of bytes', () => {
  it.each([
    ['a matrix, a few rows each', [7, 5], 2 * 5 * 4 + 3, [40, 40, 40, 20]],
    ['rows that are larger than a part', [3, 5], 8, [20, 20, 20]],
    ['a vector', [10], 16, [16, 16, 8]],
    ['a number', [], 2, [4]],
    ['nothing', [0, 3], 8, [0]],
    ['a tensor of three dimensions, whole', [2, 3, 4], 1000, [96]],
  ])('of %s', (_, shape, most, lengths) => {
    tidy(() => {
      const tensor = empty(shape).uniform_();
      const parts = [...byteParts(tensor, most)];
      expect(parts.map(({ length }) => length)).toEqual(lengths);
      expect(Buffer.concat(parts)).toEqual(Buffer.from(tensor.toBytes()));
    });
  });

  it('are those of a turned matrix that has a gradient, too', () => {
    tidy(() => {
      const tensor = empty([6, 4]).uniform_();
      tensor.requiresGrad = true;
      expect(Buffer.concat([...byteParts(tensor.t(), 50)])).toEqual(Buffer.from(tensor.t().toBytes()));
    });
  });
});

import { describe } from './describe.js';
import { type DType, dtypeCode, dtypeSize, integerRange } from './dtype.js';
import { native } from './native.js';
import { tidy } from './scope.js';
import { Tensor, type TypedArray } from './tensor.js';

const arrayTypes: [DType, (data: unknown) => boolean][] = [
  ['float32', (d) => d instanceof Float32Array],
  ['float64', (d) => d instanceof Float64Array],
  ['int64', (d) => d instanceof BigInt64Array],
  ['int32', (d) => d instanceof Int32Array],
  ['int16', (d) => d instanceof Int16Array],
  ['int8', (d) => d instanceof Int8Array],
  ['uint8', (d) => d instanceof Uint8Array],
];

/**
 * A tensor of the given elements, copied. Plain numbers become float32 unless `dtype` says otherwise.
 *
 * @example tensor([1, 2, 3, 4], [2, 2])
 * @throws TypeError or RangeError for an element that is no number, or that an integer `dtype` cannot hold
 */
export function tensor(
  data: number | readonly number[] | TypedArray,
  shape?: readonly number[],
  options: { dtype?: DType; device?: string } = {},
): Tensor {
  const isPlain = typeof data === 'number' || Array.isArray(data);
  const dtype = options.dtype ?? (isPlain ? 'float32' : undefined);
  const array = isPlain ? numbers(typeof data === 'number' ? [data] : data, dtype!) : (data as TypedArray);
  const source = arrayTypes.find(([, matches]) => matches(array))?.[0];
  if (!source) {
    const found = describe(data).slice(0, 60);
    throw new TypeError(`tensor() takes a number, an array of numbers or a typed array, found ${found}`);
  }
  const sizes = shape ?? (typeof data === 'number' ? [] : [array.length]);
  const made = new Tensor(native.fromBytes(array, checkShape(sizes), dtypeCode(source)));
  const cast = dtype === undefined || dtype === source ? made : made.to(dtype);
  if (cast !== made) made.dispose();
  const placed = options.device ? cast.toDevice(options.device) : cast;
  if (placed !== cast) cast.dispose();
  return placed;
}

/** Checked, as libtorch would turn NaN into an integer and JavaScript a nested array into NaN. */
function numbers(data: readonly unknown[], dtype: DType): TypedArray {
  const range = integerRange(dtype);
  const array = new Float64Array(data.length);
  for (let i = 0; i < array.length; i++) {
    const value = data[i];
    if (typeof value !== 'number') {
      const help = Array.isArray(value) ? '; flatten the array and give the shape beside it' : '';
      throw new TypeError(`tensor() takes numbers, element ${i} is ${describe(value)}${help}`);
    }
    if (range && !(Number.isInteger(value) && value >= range[0] && value <= range[1]))
      throw new RangeError(`tensor() cannot store element ${i}, ${value}, as ${dtype}`);
    array[i] = value;
  }
  if (dtype === 'int64') return wholeNumbers(array);
  return dtype === 'float32' ? new Float32Array(array) : array;
}

/** Whole numbers as int64, in halves of 32 bits, since a BigInt is an object of its own. */
function wholeNumbers(data: Float64Array): BigInt64Array {
  const halves = new Int32Array(2 * data.length);
  for (let i = 0; i < data.length; i++) {
    halves[2 * i] = data[i]!;
    halves[2 * i + 1] = Math.floor(data[i]! / 2 ** 32);
  }
  return new BigInt64Array(halves.buffer);
}

/**
 * A CPU tensor from raw little-endian bytes, copied. Of bool, each byte other than 0 is true.
 *
 * @throws when their number does not fit the shape
 */
export function fromBytes(data: Uint8Array, shape: readonly number[], dtype: DType): Tensor {
  if (!(data instanceof Uint8Array))
    throw new TypeError(`fromBytes() takes a Uint8Array, found ${describe(data).slice(0, 60)}`);
  return new Tensor(native.fromBytes(data, checkShape(shape), dtypeCode(dtype)));
}

/**
 * The bytes that `toBytes` gives, in parts of whole rows: of a large tensor there is never a second copy.
 *
 * @param most - bytes of a part, if a row has not more
 */
export function* byteParts(tensor: Tensor, most = 2 ** 24): Generator<Uint8Array> {
  const [rows] = tensor.shape;
  if (rows === undefined || tensor.numel === 0) return yield tensor.toBytes();
  const rowBytes = (tensor.numel / rows) * dtypeSize(tensor.dtype);
  const atOnce = Math.max(1, Math.floor(most / rowBytes));
  for (let row = 0; row < rows; row += atOnce)
    yield tidy(() =>
      tensor
        .detach()
        .narrow(0, row, Math.min(atOnce, rows - row))
        .toBytes(),
    );
}

// libtorch's reductions take no more.
const MAX_DIMENSIONS = 64;

function checkShape(shape: readonly number[]): readonly number[] {
  // The length first: an array may be four billion holes. And no `every`, which skips holes.
  const isList = Array.isArray(shape) && shape.length <= MAX_DIMENSIONS;
  if (!isList || !Array.from(shape).every((size) => Number.isSafeInteger(size) && size >= 0))
    throw new TypeError(`a shape is an array of whole numbers, found ${describe(shape)}`);
  return shape;
}

import { type DType, dtypeCode, dtypeName } from './dtype.js';
import { native, type TensorHandle } from './native.js';
import { adopt } from './scope.js';

/** A number as operators take it: whole numbers count as integers, so integer tensors stay integer. */
export type Scalar = number | boolean | bigint;

export type TypedArray =
  | Float32Array
  | Float64Array
  | BigInt64Array
  | Int32Array
  | Int16Array
  | Int8Array
  | Uint8Array
  | Uint16Array;

let read: (tensor: Tensor) => TensorHandle;

/**
 * A libtorch tensor. Operators are methods (see the generated list) and free functions.
 *
 * Memory is freed at the end of the `tidy` scope it was made in, by `dispose()` or `using`, and at last by the
 * garbage collector.
 */
export class Tensor {
  readonly #handle: TensorHandle;
  #shape: readonly number[] | undefined;

  static {
    read = (tensor) => tensor.#handle;
  }

  /** @internal Tensors come from operators, `tensor()` and `fromBytes()`. */
  constructor(handle: TensorHandle) {
    this.#handle = handle;
    adopt(this);
  }

  /** Sizes of the dimensions. */
  get shape(): readonly number[] {
    this.#shape ??= native.shape(this.#handle);
    return this.#shape;
  }

  /** Size of a dimension; negative counts from the last. */
  size(dim: number): number {
    const size = this.shape.at(dim);
    if (size === undefined) throw new RangeError(`dimension ${dim} of a tensor of shape [${this.shape}]`);
    return size;
  }

  /** Number of elements. */
  get numel(): number {
    return this.shape.reduce((product, size) => product * size, 1);
  }

  get dtype(): DType {
    return dtypeName(native.dtype(this.#handle));
  }

  /** `cpu`, `cuda:0`, … */
  get device(): string {
    return native.device(this.#handle);
  }

  get disposed(): boolean {
    return !native.isLive(this.#handle);
  }

  get requiresGrad(): boolean {
    return native.requiresGrad(this.#handle);
  }

  set requiresGrad(value: boolean) {
    native.setRequiresGrad(this.#handle, value);
  }

  /** The accumulated gradient of a leaf, or null. Each read is a new handle to the same gradient. */
  get grad(): Tensor | null {
    const handle = native.getGrad(this.#handle);
    return handle && new Tensor(handle);
  }

  set grad(value: Tensor | null) {
    native.setGrad(this.#handle, value && read(value));
  }

  /** Accumulates gradients into the leaves that this tensor depends on; a tensor that is no scalar needs `gradient`. */
  backward(gradient?: Tensor, options: { retainGraph?: boolean } = {}): void {
    native.backward([this.#handle], [gradient ? read(gradient) : null], options.retainGraph ?? false);
  }

  /**
   * A copy of the elements in row-major order: bigint for int64, float32 for the half-precision types,
   * bytes for bool.
   */
  toTypedArray(): TypedArray {
    const { dtype } = this;
    if (dtype === 'bfloat16' || dtype === 'float16') {
      const wide = this.to('float32');
      const array = wide.toTypedArray();
      wide.dispose();
      return array;
    }
    const bytes = native.toBytes(this.#handle);
    switch (dtype) {
      case 'float32':
        return new Float32Array(bytes);
      case 'float64':
        return new Float64Array(bytes);
      case 'int64':
        return new BigInt64Array(bytes);
      case 'int32':
        return new Int32Array(bytes);
      case 'int16':
        return new Int16Array(bytes);
      case 'int8':
        return new Int8Array(bytes);
      default:
        return new Uint8Array(bytes);
    }
  }

  /** The elements as plain numbers, row-major. */
  toNumbers(): number[] {
    return Array.from(this.toTypedArray() as ArrayLike<number | bigint>, Number);
  }

  /** The elements as they lie in memory, row-major, in the tensor's own dtype. */
  toBytes(): Uint8Array {
    return new Uint8Array(native.toBytes(this.#handle));
  }

  /** The value of a tensor of one element. */
  item(): number {
    if (this.numel !== 1)
      throw new RangeError(`item() needs one element, the tensor has shape [${this.shape}]`);
    return this.toNumbers()[0]!;
  }

  /** The same elements on another device; itself when it is there already. */
  toDevice(device: string): Tensor {
    return this.device === device ? this : this.toDeviceAs(device, this.dtype);
  }

  /** Frees the memory now, as far as no view or graph shares it. */
  dispose(): void {
    native.dispose(this.#handle);
  }

  /** @internal */
  charge(): void {
    native.charge(this.#handle);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  toString(): string {
    return this.disposed
      ? 'disposed tensor'
      : `${this.dtype}[${this.shape}]${this.device === 'cpu' ? '' : ` on ${this.device}`}`;
  }
}

/** @internal */
export const handleOf = (tensor: Tensor): TensorHandle => read(tensor);

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
 */
export function tensor(
  data: number | readonly number[] | TypedArray,
  shape?: readonly number[],
  options: { dtype?: DType; device?: string } = {},
): Tensor {
  const array =
    typeof data === 'number'
      ? Float64Array.of(data)
      : Array.isArray(data)
        ? Float64Array.from(data)
        : (data as TypedArray);
  const source = arrayTypes.find(([, matches]) => matches(array))?.[0];
  if (!source) throw new TypeError('tensor() takes a number, an array of numbers or a typed array');
  const sizes = shape ?? (typeof data === 'number' ? [] : [array.length]);
  const made = new Tensor(native.fromBytes(array, sizes, dtypeCode(source)));
  const dtype = options.dtype ?? (array === data ? source : 'float32');
  const cast = dtype === source ? made : made.to(dtype);
  if (cast !== made) made.dispose();
  const placed = options.device ? cast.toDevice(options.device) : cast;
  if (placed !== cast) cast.dispose();
  return placed;
}

/** A CPU tensor from raw little-endian bytes, copied; throws when their number does not fit the shape. */
export function fromBytes(data: Uint8Array, shape: readonly number[], dtype: DType): Tensor {
  return new Tensor(native.fromBytes(data, shape, dtypeCode(dtype)));
}

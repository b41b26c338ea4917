import { describe } from './describe.js';
import { type DType, dtypeLabel, dtypeName, isSupported } from './dtype.js';
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
  | Uint8Array;

/** The name under which `console.log` looks for a method. */
const nodeInspect: unique symbol = Symbol.for('nodejs.util.inspect.custom');

let read: (tensor: Tensor) => TensorHandle;
let forget: (tensor: Tensor) => void;

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
    forget = (tensor) => {
      tensor.#shape = undefined;
    };
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
    const handle = value && liveHandle(value, 'the gradient');
    // libtorch takes any tensor here and later reads beyond the end of a smaller one.
    if (handle && `${value}` !== `${this}`)
      throw new TypeError(`the gradient is ${value}, its tensor ${this}`);
    native.setGrad(this.#handle, handle);
  }

  /**
   * Accumulates gradients into the leaves that this tensor depends on; a tensor that is no scalar needs `gradient`.
   *
   * @param options.onMark - called each time when the pass comes by a tensor that `mark` was called with, on the CPU only;
   *   what it throws ends the pass
   */
  backward(
    gradient?: Tensor,
    options: { retainGraph?: boolean; onMark?: (() => void) | undefined } = {},
  ): void {
    const weight = gradient ? liveHandle(gradient, 'the gradient') : null;
    native.backward([this.#handle], [weight], options.retainGraph ?? false, options.onMark ?? null);
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

  /** Dtype, shape and, unless it is the CPU, device: `float32[2,3] on cuda:0`. */
  toString(): string {
    if (this.disposed) return 'disposed tensor';
    const where = this.device === 'cpu' ? '' : ` on ${this.device}`;
    return `${dtypeLabel(native.dtype(this.#handle))}[${this.shape}]${where}`;
  }

  /** Text for `console.log`, with the values when there are at most 8 and they lie on the CPU. */
  [nodeInspect](): string {
    if (this.disposed) return 'Tensor (disposed)';
    const shown = this.numel <= 8 && this.device === 'cpu' && isSupported(native.dtype(this.#handle));
    return `Tensor ${this}${shown ? ` [${this.toNumbers().join(', ')}]` : ''}`;
  }
}

/** @internal */
export const handleOf = (tensor: Tensor): TensorHandle => read(tensor);

/** @internal To be called after an in-place operator: a few, such as `squeeze_`, change the shape. */
export const forgetShape = (tensor: Tensor): void => forget(tensor);

/**
 * @internal
 * @throws TypeError with `name` when the value is no tensor or a disposed one
 */
export function liveHandle(value: unknown, name: string): TensorHandle {
  if (!(value instanceof Tensor)) throw new TypeError(`${name} must be a tensor, found ${describe(value)}`);
  if (value.disposed) throw new TypeError(`${name} is a disposed tensor`);
  return read(value);
}

/**
 * @internal
 * @throws TypeError with `name` when the value is no list of live tensors
 */
export function liveHandles(value: unknown, name: string): TensorHandle[] {
  if (!Array.isArray(value))
    throw new TypeError(`${name} must be a list of tensors, found ${describe(value)}`);
  const handles: TensorHandle[] = [];
  // No `map`: it would go through an array of four billion holes.
  for (const [i, tensor] of value.entries()) handles.push(liveHandle(tensor, `${name}[${i}]`));
  return handles;
}

import { native, type RecordingHandle } from './native.js';
import { tidy } from './scope.js';
import { forgetShape, handleOf, Tensor } from './tensor.js';

/**
 * Calls of operators that JavaScript makes once. After that they are made without it, for other inputs: a call from JavaScript
 * takes some microseconds, which is as long as a small operator's work.
 *
 * Shapes may differ from one time to the next. Tensors that are neither inputs nor computed from them are the same each time,
 * with what is in them then, and are held until `dispose`.
 */
export class Recording {
  #handle: RecordingHandle | undefined;
  #disposed = false;

  /** @param compute - what is recorded. It reads neither numbers nor shapes of its inputs and of what it computes of them. */
  constructor(private readonly compute: (...inputs: Tensor[]) => Tensor) {}

  /** The result for these inputs; the first time by `compute`. */
  run(...inputs: Tensor[]): Tensor {
    if (this.#disposed) throw new Error('the recording is disposed');
    const handles = inputs.map(handleOf);
    if (this.#handle) return new Tensor(native.replay(this.#handle, handles));
    // One that was read before would be known.
    for (const input of inputs) forgetShape(input);
    let result: Tensor | undefined;
    this.#handle = native.record(handles, () => {
      result = tidy(() => this.compute(...inputs));
      return handleOf(result);
    });
    return result!;
  }

  dispose(): void {
    if (this.#handle) native.disposeRecording(this.#handle);
    this.#handle = undefined;
    this.#disposed = true;
  }
}

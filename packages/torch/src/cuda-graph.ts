import { type GraphHandle, native } from './native.js';
import { keep, tidy } from './scope.js';
import type { Tensor } from './tensor.js';

/** Whether work of this device can be recorded: it is a CUDA device, and the addon was built with CUDA's headers. */
export function canCapture(device: string): boolean {
  return device.startsWith('cuda') && native.captureGraph !== undefined;
}

/**
 * Work of a CUDA device, recorded once and launched again as a whole: one launch in place of hundreds.
 *
 * A replay does the same to the same memory. What differs from one to the next must be the contents of tensors that live
 * as long as the graph, never a number, a shape, or another tensor.
 */
export class CudaGraph {
  readonly #handle: GraphHandle;
  readonly #result: Tensor;

  /**
   * @param device - `cuda`, `cuda:0`, …
   * @param body - runs twice, once to make tensors that cannot be made while recording; reads no values and brings none
   * @throws where {@link canCapture} says no, and errors of `body`
   */
  constructor(device: string, body: () => Tensor) {
    if (!native.captureGraph) {
      throw new Error(
        "this addon records no CUDA graphs: set-up found no libtorch for CUDA, or not CUDA's headers. Run: npx grpo setup",
      );
    }
    let result: Tensor | undefined;
    try {
      this.#handle = native.captureGraph(device, () => {
        result?.dispose();
        result = keep(tidy(body));
      });
    } catch (error) {
      result?.dispose();
      throw error;
    }
    this.#result = result!;
  }

  /** Does the work again. The result is the same tensor each time, with other contents. */
  replay(): Tensor {
    native.replayGraph!(this.#handle);
    return this.#result;
  }

  /** Frees the graph, its result and the memory that it works in. */
  dispose(): void {
    native.disposeGraph!(this.#handle);
    this.#result.dispose();
  }
}

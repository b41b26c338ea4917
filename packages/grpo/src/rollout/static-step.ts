import { CudaGraph, canCapture, keep, type Tensor, zeros } from '@grpo/torch';
import type { DecodingDecoder, PackedTokens } from '../models/index.js';

/**
 * A decode step on tensors that stay in their places and keep their shapes: only their contents differ from step to
 * step. Where the device can, it is recorded at first and replayed from then on; elsewhere it is computed each time.
 */
export class StaticStep {
  /** The step's input. */
  readonly tokens: PackedTokens;
  /** The column of the cache that each token is written to, int64 `[places]`. */
  readonly columns_S: Tensor;
  #recorded: { graph: CudaGraph; decoder: DecodingDecoder } | undefined;

  /** @param places - number of tokens per step */
  constructor(
    places: number,
    private readonly device: string,
  ) {
    const made = (size: number) => keep(zeros([size], { dtype: 'int64', device }));
    this.tokens = { ids_N: made(places), positions_N: made(places) };
    this.columns_S = made(places);
  }

  /**
   * @param compute - the step; the same for the same decoder until `forget`
   * @returns the result of `compute`; where it is recorded, the same tensor each time
   */
  run(decoder: DecodingDecoder, compute: () => Tensor): Tensor {
    if (!canCapture(this.device)) return compute();
    if (this.#recorded?.decoder !== decoder) {
      this.forget();
      this.#recorded = { graph: new CudaGraph(this.device, compute), decoder };
    }
    return this.#recorded!.graph.replay();
  }

  /** Another step from now on. */
  forget(): void {
    this.#recorded?.graph.dispose();
    this.#recorded = undefined;
  }

  dispose(): void {
    this.forget();
    this.tokens.ids_N.dispose();
    this.tokens.positions_N.dispose();
    this.columns_S.dispose();
  }
}

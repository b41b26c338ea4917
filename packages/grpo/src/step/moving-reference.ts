import { type AdamW, keep, noGrad, type Tensor, tidy } from '@grpo/torch';
import type { Config } from '../config/schema.js';
import type { Decoder } from '../models/index.js';
import type { StepObserver } from './observer.js';

/**
 * A reference that follows the policy: every so many updates π_ref ← (1 − α) π_ref + α π (TR-DPO: Gorbatovski et al.,
 * 2024). Half-precision weights have float32 masters, or a small α would be rounded away.
 */
export class MovingReference implements StepObserver, Disposable {
  /** Float32 weights by name, which a resumed run needs. */
  readonly masters: ReadonlyMap<string, Tensor>;

  /**
   * @param decoder - the reference; it stays the caller's
   * @param trainer - `control` counts the updates of the run; the optimizer has masters of the weights that are not float32
   */
  constructor(
    private readonly decoder: Decoder,
    private readonly trainer: {
      config: Pick<Config, 'kl'>;
      control: { readonly updates: number };
      model: { decoder: Decoder };
      optimizer: AdamW;
    },
  ) {
    const masterOf = (weights: Tensor) =>
      weights.dtype === 'float32' ? weights : keep(weights.to('float32'));
    this.masters = noGrad(() =>
      tidy(() => new Map([...decoder.trainable].map(([name, weights]) => [name, masterOf(weights)]))),
    );
  }

  /** Mixes the policy in where it is due. */
  updated(): void {
    const { control, model, optimizer, config } = this.trainer;
    const { referenceEvery, referenceMix } = config.kl;
    if (control.updates % referenceEvery !== 0) return;
    const parameters = model.decoder.trainable;
    const state = optimizer.state();
    noGrad(() =>
      tidy(() => {
        for (const [name, master] of this.masters) {
          const weights = state.get(`${name}.master`) ?? parameters.get(name)!;
          master.mul_(1 - referenceMix).add_(weights, { alpha: referenceMix });
        }
      }),
    );
    this.#apply();
  }

  /**
   * Goes on where a checkpoint left it.
   *
   * @param read - puts the checkpoint's weights into the masters
   */
  restore(read: (masters: ReadonlyMap<string, Tensor>) => void): void {
    read(this.masters);
    this.#apply();
  }

  [Symbol.dispose](): void {
    for (const [name, master] of this.masters)
      if (this.decoder.trainable.get(name) !== master) master.dispose();
  }

  /** Puts the masters into the decoder. */
  #apply(): void {
    noGrad(() => {
      for (const [name, weights] of this.decoder.trainable) {
        const master = this.masters.get(name)!;
        if (master !== weights) weights.copy_(master);
      }
    });
  }
}

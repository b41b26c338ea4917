import { Generator, linear, noGrad, type Tensor, tidy, zeros } from '@grpo/torch';
import { seedOf } from '../../maths/random.js';
import { copiesOf } from '../weights.js';

/** Settings of a model's adapters. */
export interface LoraSettings {
  /** Inner dimension of each pair of matrices. */
  rank: number;
  /** B A is multiplied by alpha / rank. */
  alpha: number;
  /** Names of the adapted layers, or ends of names, as PEFT's `target_modules`: `q_proj`. */
  targets: readonly string[];
  /** The model that they adapt: a folder, or `ORG/NAME@REVISION`. */
  base: string;
}

/** The adapter of one layer: x ↦ scale · B (A x). */
export interface Adapter {
  /** A `[rank, in]`. */
  a: Tensor;
  /** B `[out, rank]`. */
  b: Tensor;
  /**
   * `y + scale · B (A x)`: `x` `[N, in]`, `y` `[N, out]`, which is used up.
   *
   * @param down - products with A, and `up` with B, where they are laid out
   */
  addTo(y: Tensor, x: Tensor, down?: (x: Tensor) => Tensor, up?: (x: Tensor) => Tensor): Tensor;
  /** scale · B A: `[out, in]`, float32. */
  product(): Tensor;
}

/**
 * Low-rank adapters (Hu et al., 2021) of a decoder's projections. They are float32 whatever the decoder's weights are,
 * and so is their sum with the projection's output, as in PEFT.
 */
export class Lora {
  readonly #adapters: ReadonlyMap<string, Adapter>;
  #dropout: { share: number; seed: number; drawn: number } | undefined;

  /** @param parameters - `NAME.lora_A.weight` `[rank, in]` and `NAME.lora_B.weight` `[out, rank]`; owned from now on */
  constructor(
    readonly settings: LoraSettings,
    readonly parameters: ReadonlyMap<string, Tensor>,
  ) {
    const names = [...parameters.keys()].flatMap((name) => /^(.*)\.lora_A\.weight$/.exec(name)?.[1] ?? []);
    this.#adapters = new Map(names.map((name) => [name, this.#adapterOf(name)]));
  }

  /** The adapter of a layer, by its name in the checkpoint without `.weight`. */
  of(name: string): Adapter | undefined {
    return this.#adapters.get(name);
  }

  /**
   * Until the result is disposed, a share of each adapter's inputs is 0, and the others are larger by as much: for the
   * forward passes of an update, never for log-probs that are compared with the sampler's.
   */
  dropping(share: number, seed: number): Disposable {
    this.#dropout = share === 0 ? undefined : { share, seed, drawn: 0 };
    return {
      [Symbol.dispose]: () => {
        this.#dropout = undefined;
      },
    };
  }

  /** Number of dropout masks drawn so far, for `redrawing`. */
  get drawn(): number {
    return this.#dropout?.drawn ?? 0;
  }

  /** Runs `body` with the masks of dropout that were drawn from `drawn` on. */
  redrawing<T>(drawn: number, body: () => T): T {
    const dropout = this.#dropout;
    if (!dropout) return body();
    const end = dropout.drawn;
    dropout.drawn = drawn;
    try {
      return body();
    } finally {
      dropout.drawn = end;
    }
  }

  /** A copy with matrices of its own and no gradients. */
  clone(): Lora {
    return new Lora(this.settings, copiesOf(this.parameters));
  }

  dispose(): void {
    for (const parameter of this.parameters.values()) parameter.dispose();
  }

  #adapterOf(name: string): Adapter {
    const a = this.parameters.get(`${name}.lora_A.weight`)!;
    const b = this.parameters.get(`${name}.lora_B.weight`)!;
    const scale = this.settings.alpha / this.settings.rank;
    return {
      a,
      b,
      addTo: (y, x, down = (x) => linear(x, a), up = (x) => linear(x, b)) => {
        const sum = tidy(() => {
          const inner = down(this.#drop(x.to('float32')));
          return y.to('float32').add_(up(inner), { alpha: scale }).to(y.dtype);
        });
        // In float32 the sum is in the memory of y.
        y.dispose();
        return sum;
      },
      product: () => b.mm(a).mul(scale),
    };
  }

  #drop(x: Tensor): Tensor {
    if (!this.#dropout) return x;
    const { share, seed } = this.#dropout;
    const generator = new Generator(seedOf(seed, this.#dropout.drawn++));
    const kept = noGrad(() =>
      zeros(x.shape)
        .uniform_(0, 1, { generator })
        .ge(share)
        .to('float32')
        .div_(1 - share)
        .toDevice(x.device),
    );
    return x.mul(kept);
  }
}

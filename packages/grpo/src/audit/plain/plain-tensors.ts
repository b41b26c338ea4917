import type { Tensor } from '@grpo/torch';
import type { PlainModel } from './plain-model.js';
import { type PlainShape, plainShape } from './plain-shape.js';

/**
 * The tensors of one part of a model in float32, and the products with them. They share no memory with a tensor of
 * another precision, and no graph with any.
 */
export class PlainTensors {
  readonly shape: PlainShape;
  /** By whole name; float32. */
  readonly all: ReadonlyMap<string, Tensor>;
  readonly #scale: number;
  readonly #roundsAt: number | undefined;

  /** @param prefix - of the names of the part; the names that the methods take follow it */
  constructor(
    { config, weights, adapters, roundsAt }: PlainModel,
    private readonly prefix: string,
  ) {
    this.shape = plainShape(config);
    this.#scale = adapters?.scale ?? 0;
    this.#roundsAt = roundsAt;
    const own = [...weights, ...(adapters?.matrices ?? [])].filter(([name]) => name.startsWith(prefix));
    this.all = new Map(own.map(([name, value]) => [name, value.detach().to('float32')]));
  }

  /** @throws Error: the model lacks it */
  weight(name: string): Tensor {
    const found = this.all.get(this.prefix + name);
    if (!found) throw new Error(`the model has no tensor ${this.prefix}${name}`);
    return found;
  }

  /** x Wᵀ + bias + scale · (x Aᵀ) Bᵀ: `[L, in]` → `[L, out]`. */
  project(name: string, x: Tensor): Tensor {
    const product = x.matmul(this.weight(`${name}.weight`).t());
    const y = this.shape.biased.includes(name) ? product.add(this.weight(`${name}.bias`)) : product;
    if (!this.all.has(`${this.prefix}${name}.lora_A.weight`)) return this.rounded(y);
    const [a, b] = [this.weight(`${name}.lora_A.weight`), this.weight(`${name}.lora_B.weight`)];
    return this.rounded(y.add(x.matmul(a.t()).matmul(b.t()).mul(this.#scale)));
  }

  /** The family's norm over the last dimension: GPT-2's takes the mean away and shifts, Gemma's adds 1 to its weight. */
  norm(name: string, x: Tensor): Tensor {
    const stored = this.weight(`${name}.weight`);
    const weight = this.shape.normOffset === 0 ? stored : stored.add(this.shape.normOffset);
    if (this.shape.family !== 'gpt2') return this.rounded(this.#unit(x).mul(weight));
    const centred = x.sub(x.meanDim([-1], true));
    const shift = this.weight(`${name}.bias`);
    return this.rounded(this.#unit(centred).mul(weight).add(shift));
  }

  /** The same, or as half precision has it where the model is rounded. */
  rounded(x: Tensor): Tensor {
    return roundedAt(this.#roundsAt, x);
  }

  /** x / √(mean x² + ε). */
  #unit(x: Tensor): Tensor {
    const square = x.mul(x).meanDim([-1], true);
    return x.mul(square.add(this.shape.epsilon).rsqrt());
  }
}

/** `x`, or as half precision has it where it is multiplied by a factor. */
export const roundedAt = (at: number | undefined, x: Tensor): Tensor =>
  at === undefined ? x : x.mul(at).to('bfloat16').to('float32').div(at);

import { cat, embedding, keep, noGrad, packedLinear, packLinear, type Tensor, tidy } from '@grpo/torch';
import { weightsChecksum } from './checksum.js';
import { type AttendStep, decodeStep } from './decode-step.js';
import type { Decoder } from './decoder.js';
import type { Lora } from './lora/lora.js';
import { type Layer, type PackedTokens, Transformer } from './transformer.js';
import type { LayerWeights, Linear } from './weights.js';

/**
 * A decoder for many passes over new tokens, without gradients: projections of one input are one, and weights are laid
 * out for many products. It owns that layout, and shows the weights and adapters as they were when it was made: it
 * is to be disposed before they change.
 */
export class DecodingDecoder extends Transformer implements Disposable {
  readonly layers: readonly Layer[];
  /** Checksum of the weights and adapters that are laid out. */
  readonly checksum: number;
  readonly #layout: Tensor[] = [];
  readonly #head: (x: Tensor) => Tensor;

  constructor(decoder: Decoder) {
    super(decoder.weights);
    const { weights, lora } = decoder;
    this.checksum = weightsChecksum(decoder);
    [this.layers, this.#head] = noGrad(() =>
      tidy(() => {
        const layers = weights.layers.map((layer) => this.#layerOf(layer, lora));
        const head = this.#layOut({ weight: weights.head, bias: null });
        // At last, so that nothing stays when memory runs out halfway.
        for (const tensor of this.#layout) keep(tensor);
        return [layers, head];
      }),
    );
  }

  /** Hidden states of one new token per row, as `hidden` computes them, in fewer passes. Only where `Decoder.fuses`. */
  decode(tokens: PackedTokens, attend: AttendStep): Tensor {
    const { ids_N, positions_N } = tokens;
    const { config, weights, layers } = this;
    const places = weights.positions ? embedding(weights.positions, positions_N) : null;
    const rotations = this.rotationsAt(tokens);
    const x = embedding(weights.embedding, ids_N);
    return decodeStep(config, layers, weights.finalNorm, { x, added: places, rotations }, attend);
  }

  [Symbol.dispose](): void {
    for (const tensor of this.#layout) tensor.dispose();
  }

  protected scores(hidden_MD: Tensor): Tensor {
    return this.#head(hidden_MD);
  }

  #layerOf(weights: LayerWeights, lora: Lora | undefined): Layer {
    const { heads, kvHeads, headDim, intermediateSize } = this.config;
    const { qkv, gate, up } = weights;
    const projection = (linear: Linear) => this.#adapted(linear, lora);
    const joined = (parts: readonly Linear[], widths: number[]) => {
      const whole = parts.length === 1 ? projection(parts[0]!) : this.#layOut(this.#join(parts));
      return (x: Tensor) => whole(x).splitWithSizes(widths, -1);
    };
    const apart = (parts: readonly Linear[]) => {
      const each = parts.map(projection);
      return (x: Tensor) => each.map((part) => part(x));
    };
    const widths = [heads, kvHeads, kvHeads].map((count) => count * headDim);
    const canJoin = (parts: readonly Linear[]) => parts.length === 1 || joinable(parts, lora);
    const project = canJoin(qkv) ? joined(qkv, widths) : apart(qkv);
    const pair = gate ? [gate, up] : [up];
    const gateUp = gate && canJoin(pair) ? joined(pair, [intermediateSize, intermediateSize]) : apart(pair);
    return {
      ...weights,
      qkv: (x) => project(x) as [Tensor, Tensor, Tensor],
      output: projection(weights.output),
      gateUp: (x) => {
        const [activated, factor = null] = gateUp(x) as [Tensor, Tensor?];
        return [activated, factor];
      },
      down: projection(weights.down),
    };
  }

  /** A projection with its adapter. */
  #adapted(linear: Linear, lora: Lora | undefined): (x: Tensor) => Tensor {
    const plain = this.#layOut(linear);
    const adapter = lora?.of(linear.name);
    if (!adapter) return plain;
    const [down, up] = [adapter.a, adapter.b].map((weight) => this.#layOut({ weight, bias: null }));
    return (x) => adapter.addTo(plain(x), x, down, up);
  }

  /** A projection whose weight is laid out for many products. */
  #layOut({ weight, bias }: Omit<Linear, 'name'>): (x: Tensor) => Tensor {
    const layout = this.#own(packLinear(weight));
    const outputs = weight.size(0);
    return (x) => packedLinear(x, layout, outputs, bias);
  }

  #join(parts: readonly Linear[]): Omit<Linear, 'name'> {
    const biases = parts.flatMap(({ bias }) => bias ?? []);
    return {
      weight: cat(parts.map(({ weight }) => weight)),
      bias: biases.length > 0 ? this.#own(cat(biases)) : null,
    };
  }

  #own(tensor: Tensor): Tensor {
    this.#layout.push(tensor);
    return tensor;
  }
}

/** Adapters belong to one projection each, and so do biases that not all of them have. */
const joinable = (parts: readonly Linear[], lora: Lora | undefined) =>
  parts.every(({ name, bias }) => !lora?.of(name) && (bias === null) === (parts[0]!.bias === null));

import { cat, embedding, keep, noGrad, packedLinear, packLinear, type Tensor, tidy } from '@grpo/torch';
import { weightsChecksum } from './checksum.js';
import { type AttendStep, decodeStep } from './decode-step.js';
import type { Decoder } from './decoder.js';
import type { Lora } from './lora/lora.js';
import { type Layer, type PackedTokens, Transformer, widthsOf } from './transformer.js';
import type { LayerWeights, Linear, Norm } from './weights.js';

/**
 * A decoder for many passes over new tokens, without gradients: projections of one input are one, and weights are laid
 * out for many products. It owns that layout, and shows the weights and adapters as they were when it was made: it
 * is to be disposed before they change.
 */
export class DecodingDecoder extends Transformer implements Disposable {
  readonly layers: readonly Layer[];
  readonly finalNorm: Norm;
  /** Checksum of the weights and adapters that are laid out. */
  readonly checksum: number;
  readonly #layout: Tensor[] = [];
  readonly #head: (x: Tensor) => Tensor;

  constructor(decoder: Decoder) {
    super(decoder.weights);
    const { weights, lora } = decoder;
    this.checksum = weightsChecksum(decoder);
    [this.layers, this.finalNorm, this.#head] = noGrad(() =>
      tidy(() => {
        const layers = weights.layers.map((layer) => this.#layerOf(layer, lora));
        const finalNorm = this.#normOf(weights.finalNorm);
        const head = this.#layOut({ weight: weights.head, bias: null });
        // At last, so that nothing stays when memory runs out halfway.
        for (const tensor of this.#layout) keep(tensor);
        return [layers, finalNorm, head];
      }),
    );
  }

  /** Hidden states of one new token per row, as `hidden` computes them, in fewer passes. Only where `Decoder.fuses`. */
  decode(tokens: PackedTokens, attend: AttendStep): Tensor {
    const { ids_N, positions_N } = tokens;
    const { positions } = this.weights;
    const added = positions ? embedding(positions, positions_N) : null;
    const input = { x: this.embedIds(ids_N), added, rotations: this.rotationsAt(tokens) };
    return decodeStep(this.config, this.layers, this.finalNorm, input, attend);
  }

  [Symbol.dispose](): void {
    for (const tensor of this.#layout) tensor.dispose();
  }

  protected scores(hidden_MD: Tensor): Tensor {
    return this.#head(hidden_MD);
  }

  /** The norms here have factors in place of weights. */
  protected override factorOf(factor: Tensor): Tensor {
    return factor;
  }

  #layerOf(weights: LayerWeights, lora: Lora | undefined): Layer {
    const widths = widthsOf(this.config);
    const projection = (linear: Linear) => this.#adapted(linear, lora);
    const joined = (parts: readonly Linear[], widths: number[]) => {
      const whole = parts.length === 1 ? projection(parts[0]!) : this.#layOut(this.#join(parts));
      return widths.length === 1
        ? (x: Tensor) => [whole(x)]
        : (x: Tensor) => whole(x).splitWithSizes(widths, -1);
    };
    const apart = (parts: readonly Linear[]) => {
      const each = parts.map(projection);
      return (x: Tensor) => each.map((part) => part(x));
    };
    const parts = (linears: readonly Linear[], widths: number[]) =>
      linears.length === 1 || joinable(linears, lora) ? joined(linears, widths) : apart(linears);
    const [qkv, gateUp] = [parts(weights.qkv, widths.qkv), parts(weights.gateUp, widths.gateUp)];
    const norm = (stored: Norm | undefined) => stored && this.#normOf(stored);
    const factor = (stored: Tensor | null) => stored && this.#factorOf(stored);
    return {
      attentionNorm: norm(weights.attentionNorm),
      attentionAfterNorm: norm(weights.attentionAfterNorm),
      queryNorm: factor(weights.queryNorm),
      keyNorm: factor(weights.keyNorm),
      mlpNorm: norm(weights.mlpNorm),
      mlpAfterNorm: norm(weights.mlpAfterNorm),
      qkv: (x) => qkv(x) as [Tensor, Tensor, Tensor],
      output: projection(weights.output),
      gateUp: (x) => gateUp(x) as [Tensor, Tensor?],
      down: projection(weights.down),
    };
  }

  #normOf({ weight, bias }: Norm): Norm {
    return { weight: this.#factorOf(weight), bias };
  }

  #factorOf(weight: Tensor): Tensor {
    const factor = super.factorOf(weight);
    return factor === weight ? weight : this.#own(factor);
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

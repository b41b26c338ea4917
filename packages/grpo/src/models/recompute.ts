/**
 * Activation checkpointing (Chen et al., 2016): the forward pass keeps each layer's input alone, and the backward pass
 * computes one layer after another again. The same gradients for a third more arithmetic, and one layer's activations in
 * place of all layers'.
 */
import { backward, isGradEnabled, keep, noGrad, type Tensor, tidy } from '@grpo/torch';
import { Decoder } from './decoder.js';
import type { Rotation } from './rope.js';
import type { Attend, PackedTokens } from './transformer.js';

/** The decoder of a forward pass, and the backward pass through it. */
export interface Pass extends Disposable {
  decoder: Decoder;
  /**
   * Accumulates the gradients of a loss of the decoder's hidden states and head.
   *
   * @param onMark - as that of `Tensor.backward`; a layer that is computed again calls `attend` again instead
   */
  backward(loss: Tensor, onMark?: () => void): void;
}

/** A pass through a decoder that keeps its activations, or that computes them again. */
export function openPass(decoder: Decoder, recompute: boolean): Pass {
  if (!recompute) {
    const plainly: Pass['backward'] = (loss, onMark) => loss.backward(undefined, { onMark });
    return { decoder, backward: plainly, [Symbol.dispose]() {} };
  }
  const recomputing = new RecomputingDecoder(decoder);
  return {
    decoder: recomputing,
    backward: (loss) => recomputing.backward(loss),
    [Symbol.dispose]: () => recomputing[Symbol.dispose](),
  };
}

/** A call of `hidden`, for its backward pass. */
interface Call {
  tokens: PackedTokens;
  rotations: readonly Rotation[];
  attend: Attend;
  /** Inputs of the layers, `[N, hiddenSize]`, from the first layer on that has a trained weight. */
  inputs: { layer: number; x: Tensor; drawn: number }[];
  /** Output of the last layer: a leaf, which gets the gradient of the loss. */
  last: Tensor;
}

class RecomputingDecoder extends Decoder implements Disposable {
  readonly #calls: Call[] = [];
  readonly #kept: Tensor[] = [];
  /** Whether an embedding is trained. */
  readonly #embeds: boolean;
  /** The first layer that has something to train. */
  readonly #first: number;

  constructor({ weights, lora }: Decoder) {
    super(weights, lora);
    const { embedding, positions, layers } = weights;
    this.#embeds = embedding.requiresGrad || (positions?.requiresGrad ?? false);
    const adapted = layers.findIndex(({ qkv, output, gateUp, down }) =>
      [...qkv, output, ...gateUp, down].some(({ name }) => lora?.of(name)),
    );
    this.#first = this.#embeds ? 0 : Math.max(adapted, 0);
  }

  override hidden(tokens: PackedTokens, attend: Attend): Tensor {
    if (!isGradEnabled()) return super.hidden(tokens, attend);
    const call = noGrad(() => tidy(() => this.#forward(tokens, attend)));
    call.last.requiresGrad = true;
    this.#calls.push(call);
    return this.norm(call.last, this.finalNorm);
  }

  backward(loss: Tensor): void {
    loss.backward();
    tidy(() => {
      const roots: { tensor: Tensor; gradient: Tensor }[] = [];
      for (const call of this.#calls) {
        const gradient = this.#throughLayers(call);
        if (gradient && this.#embeds) roots.push({ tensor: this.embed(call.tokens), gradient });
      }
      if (roots.length === 0) return;
      backward(
        roots.map(({ tensor }) => tensor),
        roots.map((root) => root.gradient),
      );
    });
  }

  [Symbol.dispose](): void {
    for (const tensor of this.#kept) tensor.dispose();
  }

  #forward(tokens: PackedTokens, attend: Attend): Call {
    // The caller's own may be freed before the backward pass.
    const { ids_N, positions_N } = tokens;
    const own = { ids_N: this.#keep(ids_N.detach()), positions_N: this.#keep(positions_N.detach()) };
    const rotations = this.rotationsAt(own);
    for (const tensor of rotations.flatMap(({ cos, sin }) => [cos, sin])) this.#keep(tensor);
    const inputs: Call['inputs'] = [];
    let x = this.embed(own);
    for (const layer of this.layers.keys()) {
      const input = x;
      const drawn = this.lora?.drawn ?? 0;
      x = tidy(() => this.layer(layer, input, rotations, attend));
      if (layer < this.#first) input.dispose();
      else inputs.push({ layer, x: this.#keep(input), drawn });
    }
    return { tokens: own, rotations, attend, inputs, last: this.#keep(x) };
  }

  /** Gradient of the first layer's input, where an embedding is trained; null also where the loss has none. */
  #throughLayers({ last, inputs, rotations, attend }: Call): Tensor | null {
    let gradient = last.grad;
    last.dispose();
    for (const { layer, x, drawn } of inputs.reverse()) {
      const above = gradient;
      if (!above) break;
      x.requiresGrad = this.#embeds || layer > this.#first;
      gradient = tidy(() => {
        const again = () => tidy(() => this.layer(layer, x, rotations, attend));
        const y = this.lora ? this.lora.redrawing(drawn, again) : again();
        if (y.requiresGrad) y.backward(above);
        return x.grad;
      });
      for (const tensor of [above, x]) tensor.dispose();
    }
    return gradient;
  }

  #keep(tensor: Tensor): Tensor {
    this.#kept.push(keep(tensor));
    return tensor;
  }
}

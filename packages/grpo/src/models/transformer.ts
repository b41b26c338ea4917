import { type DType, embedding, gelu, layerNorm, rmsNorm, silu, type Tensor, tidy } from '@grpo/torch';
import type { DecoderConfig } from './config.js';
import { type Rotation, rotate } from './rope.js';
import type { Norm, Weights } from './weights.js';

/**
 * How queries meet keys and values, for packed tokens: `q` `[N, heads, headDim]`, `k` and `v` `[N, kvHeads, headDim]`
 * → `[N, heads, headDim]`. The decoder knows neither sequences nor caches; this does.
 */
export type Attend = (layer: number, q_NHD: Tensor, k_NKD: Tensor, v_NKD: Tensor) => Tensor;

/** Tokens of any number of sequences, one after another. */
export interface PackedTokens {
  /** int64 `[N]`. */
  ids_N: Tensor;
  /** Place of each token in its own sequence, int64 `[N]`. */
  positions_N: Tensor;
}

/** A layer: its norms, and its projections as functions of `[N, in]`. */
export interface Layer {
  attentionNorm: Norm;
  queryNorm: Tensor | null;
  keyNorm: Tensor | null;
  mlpNorm: Norm;
  /** Queries `[N, heads × headDim]`, keys and values `[N, kvHeads × headDim]`. */
  qkv(x: Tensor): readonly [Tensor, Tensor, Tensor];
  output(x: Tensor): Tensor;
  /** The activation's input and, in a gated layer, the factor of its output. */
  gateUp(x: Tensor): readonly [Tensor, Tensor | null];
  down(x: Tensor): Tensor;
}

/** The rotation of a layer's queries and keys, of those by each rope. */
export function rotationOf(
  { attention }: DecoderConfig,
  layer: number,
  rotations: readonly Rotation[],
): Rotation | undefined {
  const { rope } = attention[layer]!;
  return rope === undefined ? undefined : rotations[rope];
}

/** A decoder-only transformer over packed tokens; padding is not a concept here. */
export abstract class Transformer {
  abstract readonly layers: readonly Layer[];

  constructor(readonly weights: Weights) {}

  get config(): DecoderConfig {
    return this.weights.config;
  }

  get dtype(): DType {
    return this.weights.dtype;
  }

  get device(): string {
    return this.weights.device;
  }

  /** Hidden states after the final norm: `[N, hiddenSize]`. */
  hidden(tokens: PackedTokens, attend: Attend): Tensor {
    let x = this.embed(tokens);
    const rotations = this.rotationsAt(tokens);
    for (const i of this.layers.keys()) {
      const input = x;
      // A layer's intermediates are freed at its end, except those that autograd holds for the backward pass.
      x = tidy(() => this.layer(i, input, rotations, attend));
      input.dispose();
    }
    return this.norm(x, this.weights.finalNorm);
  }

  /** Scores of the next token, in float32: `[M, hiddenSize]` → `[M, vocabSize]`. */
  logits(hidden_MD: Tensor): Tensor {
    return this.scores(hidden_MD).to('float32');
  }

  /** The vocabulary projection, in the decoder's own precision. */
  protected abstract scores(hidden_MD: Tensor): Tensor;

  /** Embeds the tokens: `[N, hiddenSize]`, the input of the first layer. */
  protected embed({ ids_N, positions_N }: PackedTokens): Tensor {
    const { positions } = this.weights;
    const x = embedding(this.weights.embedding, ids_N);
    return positions ? x.add(embedding(positions, positions_N)) : x;
  }

  /** The tokens' rotations by each of the configuration's ropes. */
  protected rotationsAt({ positions_N }: PackedTokens): readonly Rotation[] {
    return this.weights.ropes.map((rope) => rope.at(positions_N));
  }

  /** One layer: `[N, hiddenSize]` → `[N, hiddenSize]`. */
  protected layer(index: number, x: Tensor, rotations: readonly Rotation[], attend: Attend): Tensor {
    const layer = this.layers[index]!;
    const rotation = rotationOf(this.config, index, rotations);
    const [q, k, v] = this.#heads(layer, this.norm(x, layer.attentionNorm));
    const [turnedQ, turnedK] = rotation ? [rotate(q, rotation), rotate(k, rotation)] : [q, k];
    const attended = x.add(layer.output(attend(index, turnedQ, turnedK, v).flatten(-2)));
    const [gate, up] = layer.gateUp(this.norm(attended, layer.mlpNorm));
    const activated = this.#activate(gate);
    return attended.add(layer.down(up ? activated.mul(up) : activated));
  }

  protected norm(x: Tensor, { weight, bias }: Norm): Tensor {
    const { hiddenSize, normEps, norm } = this.config;
    return norm === 'layer'
      ? layerNorm(x, [hiddenSize], weight, bias, normEps)
      : rmsNorm(x, [hiddenSize], weight, normEps);
  }

  /** Queries `[N, heads, headDim]`, keys and values `[N, kvHeads, headDim]`. */
  #heads({ qkv, queryNorm, keyNorm }: Layer, x: Tensor): [Tensor, Tensor, Tensor] {
    const { headDim, normEps } = this.config;
    const [q, k, v] = qkv(x).map((part) => part.reshape([-1, part.size(-1) / headDim, headDim])) as [
      Tensor,
      Tensor,
      Tensor,
    ];
    if (!queryNorm || !keyNorm) return [q, k, v];
    return [rmsNorm(q, [headDim], queryNorm, normEps), rmsNorm(k, [headDim], keyNorm, normEps), v];
  }

  #activate(x: Tensor): Tensor {
    const { activation } = this.config;
    if (activation === 'silu') return silu(x);
    return gelu(x, { approximate: activation === 'gelu_tanh' ? 'tanh' : 'none' });
  }
}

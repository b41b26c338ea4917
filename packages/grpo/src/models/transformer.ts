import {
  type DType,
  dtypeSize,
  embedding,
  gatedActivation,
  gelu,
  layerNorm,
  rmsNorm,
  rotate,
  type Tensor,
  tidy,
} from '@grpo/torch';
import type { DecoderConfig } from './config.js';
import type { Rotation } from './rope.js';
import type { LayerNorms, Norm, Weights } from './weights.js';

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
export interface Layer extends LayerNorms {
  /** Queries `[N, heads × headDim]`, keys and values `[N, kvHeads × headDim]`. */
  qkv(x: Tensor): readonly [Tensor, Tensor, Tensor];
  output(x: Tensor): Tensor;
  /** The activation's input and, in a gated layer, the factor of its output. */
  gateUp(x: Tensor): readonly [Tensor, Tensor?];
  down(x: Tensor): Tensor;
}

/** Widths of the parts of a layer's projections that have one input. */
export function widthsOf({ heads, kvHeads, headDim, intermediateSize, gated }: DecoderConfig) {
  return {
    qkv: [heads, kvHeads, kvHeads].map((count) => count * headDim),
    gateUp: gated ? [intermediateSize, intermediateSize] : [intermediateSize],
  };
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
  abstract readonly finalNorm: Norm;

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
    return this.norm(x, this.finalNorm);
  }

  /** Scores of the next token, in float32: `[M, hiddenSize]` → `[M, vocabSize]`. */
  logits(hidden_MD: Tensor): Tensor {
    const { logitDivisor, logitSoftcap } = this.config;
    const scores = this.scores(hidden_MD).to('float32');
    const logits = logitDivisor === 1 ? scores : scores.div_(logitDivisor);
    if (logitSoftcap === undefined) return logits;
    const bounded = logits.div_(logitSoftcap).tanh();
    return bounded.requiresGrad ? bounded.mul(logitSoftcap) : bounded.mul_(logitSoftcap);
  }

  /** The vocabulary projection, in the decoder's own precision: a tensor of its own. */
  protected abstract scores(hidden_MD: Tensor): Tensor;

  /** Embeds the tokens: `[N, hiddenSize]`, the input of the first layer. */
  protected embed({ ids_N, positions_N }: PackedTokens): Tensor {
    const { positions } = this.weights;
    const x = this.embedIds(ids_N);
    return positions ? x.add(embedding(positions, positions_N)) : x;
  }

  /** Embeddings of ids, without their positions: `[N]` → `[N, hiddenSize]`. */
  protected embedIds(ids_N: Tensor): Tensor {
    const { embedding: table, embeddingScale } = this.weights;
    const x = embedding(table, ids_N);
    return embeddingScale === 1 ? x : x.mul(embeddingScale);
  }

  /** The tokens' rotations by each of the configuration's ropes. */
  rotationsAt({ positions_N }: PackedTokens): readonly Rotation[] {
    return this.weights.ropes.map((rope) => rope.at(positions_N));
  }

  /** One layer: `[N, hiddenSize]` → `[N, hiddenSize]`. */
  layer(index: number, x: Tensor, rotations: readonly Rotation[], attend: Attend): Tensor {
    const layer = this.layers[index]!;
    const rotation = rotationOf(this.config, index, rotations);
    const attended = this.#addBlock(x, layer.attentionNorm, layer.attentionAfterNorm, (input) => {
      const [q, k, v] = this.#heads(layer, input);
      const turned = (part: Tensor) => (rotation ? rotate(part, rotation.cos, rotation.sin) : part);
      return layer.output(attend(index, turned(q), turned(k), v).flatten(-2));
    });
    return this.#addBlock(attended, layer.mlpNorm, layer.mlpAfterNorm, (input) => {
      const [gate, up] = layer.gateUp(input);
      return layer.down(activate(this.config, gate, up));
    });
  }

  /** A norm of the family's kind, over the last dimension. */
  norm(x: Tensor, { weight, bias }: Norm): Tensor {
    return bias ? layerNorm(x, weight, bias, this.config.normEps) : this.#rms(x, weight);
  }

  /** Factor of an RMS norm by its weight: the sum with an offset is float32 where the weight is half precision. */
  protected factorOf(weight: Tensor): Tensor {
    const { normOffset } = this.config;
    if (normOffset === 0) return weight;
    return (dtypeSize(weight.dtype) < 4 ? weight.to('float32') : weight).add(normOffset);
  }

  /** `x` with a block's output, between its norms. */
  #addBlock(
    x: Tensor,
    before: Norm | undefined,
    after: Norm | undefined,
    compute: (input: Tensor) => Tensor,
  ): Tensor {
    const { residualScale } = this.config;
    const y = compute(before ? this.norm(x, before) : x);
    const normed = after ? this.norm(y, after) : y;
    return x.add(residualScale === 1 ? normed : normed.mul(residualScale));
  }

  /** Queries `[N, heads, headDim]`, keys and values `[N, kvHeads, headDim]`. */
  #heads({ qkv, queryNorm, keyNorm }: Layer, x: Tensor): [Tensor, Tensor, Tensor] {
    const { headDim, qkNorm } = this.config;
    const normed = (part: Tensor, weight: Tensor | null, by: 'head' | 'whole') =>
      weight && qkNorm === by ? this.#rms(part, weight) : part;
    const heads = (part: Tensor, weight: Tensor | null) =>
      normed(normed(part, weight, 'whole').reshape([-1, part.size(-1) / headDim, headDim]), weight, 'head');
    const [q, k, v] = qkv(x);
    return [heads(q, queryNorm), heads(k, keyNorm), heads(v, null)];
  }

  /** RMS norm over the last dimension. */
  #rms(x: Tensor, weight: Tensor): Tensor {
    return rmsNorm(x, this.factorOf(weight), this.config.normEps);
  }
}

/** The activation of `gate`, times `up`. */
export function activate({ activation }: DecoderConfig, gate: Tensor, up?: Tensor): Tensor {
  if (activation !== 'gelu') return gatedActivation(gate, up ?? null, activation);
  return up ? gelu(gate).mul(up) : gelu(gate);
}

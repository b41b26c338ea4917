import {
  type DType,
  embedding,
  gelu,
  keep,
  layerNorm,
  linear,
  noGrad,
  rmsNorm,
  silu,
  type Tensor,
  tidy,
} from '@grpo/torch';
import type { DecoderConfig } from './config.js';
import type { Adapter, Lora } from './lora.js';
import { type LayerNames, namesOf } from './parameters.js';
import { Rope, rotate } from './rope.js';

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

interface Linear {
  weight: Tensor;
  bias: Tensor | null;
  adapter?: Adapter | undefined;
}

interface Layer {
  attentionNorm: Linear;
  qkv: Linear[];
  queryNorm?: Linear;
  keyNorm?: Linear;
  output: Linear;
  mlpNorm: Linear;
  gate?: Linear;
  up: Linear;
  down: Linear;
}

/** A transformer decoder over packed tokens; padding is not a concept here. */
export class Decoder {
  readonly #layers: Layer[];
  readonly #embedding: Tensor;
  readonly #positions: Tensor | undefined;
  readonly #finalNorm: Linear;
  readonly #head: Tensor;
  readonly #rope: Rope | undefined;
  /** The weights are another decoder's. */
  #borrows = false;

  /**
   * @param parameters - by checkpoint name, projections as [out, in]; owned by the decoder from now on
   * @param lora - adapters of these projections; owned as well
   */
  constructor(
    readonly config: DecoderConfig,
    readonly parameters: ReadonlyMap<string, Tensor>,
    readonly lora?: Lora,
  ) {
    const names = namesOf(config);
    const get = (name: string) => parameters.get(name)!;
    const pair = (name: string): Linear => ({
      weight: get(`${name}.weight`),
      bias: parameters.get(`${name}.bias`) ?? null,
      adapter: lora?.of(name),
    });
    const layer = (l: LayerNames): Layer => ({
      attentionNorm: pair(l.attentionNorm),
      qkv: l.qkv.map(pair),
      queryNorm: config.qkNorm ? pair(l.queryNorm) : undefined,
      keyNorm: config.qkNorm ? pair(l.keyNorm) : undefined,
      output: pair(l.output),
      mlpNorm: pair(l.mlpNorm),
      gate: l.gate ? pair(l.gate) : undefined,
      up: pair(l.up),
      down: pair(l.down),
    });
    this.#layers = Array.from({ length: config.layers }, (_, i) => layer(names.layer(i)));
    this.#embedding = get(`${names.embedding}.weight`);
    this.#positions = names.positions ? get(`${names.positions}.weight`) : undefined;
    this.#finalNorm = pair(names.finalNorm);
    this.#head = config.tied ? this.#embedding : get(`${names.head}.weight`);
    this.#rope = names.positions ? undefined : new Rope(config, this.dtype, this.device);
  }

  get dtype(): DType {
    return this.#embedding.dtype;
  }

  get device(): string {
    return this.#embedding.device;
  }

  /** What training changes: the adapters where there are some, else all weights. */
  get trainable(): ReadonlyMap<string, Tensor> {
    return this.lora?.parameters ?? this.parameters;
  }

  /** Hidden states after the final norm: `[N, hiddenSize]`. */
  hidden(tokens: PackedTokens, attend: Attend): Tensor {
    let x = embedding(this.#embedding, tokens.ids_N);
    if (this.#positions) x = x.add(embedding(this.#positions, tokens.positions_N));
    const rotation = this.#rope?.at(tokens.positions_N);
    for (const [i, layer] of this.#layers.entries()) {
      const [q, k, v] = this.#project(layer, this.#norm(x, layer.attentionNorm));
      const [turnedQ, turnedK] = rotation ? [rotate(q, rotation), rotate(k, rotation)] : [q, k];
      x = x.add(apply(layer.output, attend(i, turnedQ, turnedK, v).flatten(-2)));
      x = x.add(this.#feedForward(layer, this.#norm(x, layer.mlpNorm)));
    }
    return this.#norm(x, this.#finalNorm);
  }

  /** The vocabulary projection: `[vocabSize, hiddenSize]`. */
  get head(): Tensor {
    return this.#head;
  }

  /** Scores of the next token, in float32: `[M, hiddenSize]` → `[M, vocabSize]`. */
  logits(hidden_MD: Tensor): Tensor {
    return linear(hidden_MD, this.#head).to('float32');
  }

  /** A copy with weights of its own and no gradients: a frozen reference. */
  clone(): Decoder {
    return noGrad(() =>
      tidy(() => {
        const copies = [...this.parameters].map(([name, p]) => [name, keep(p.detach().clone())] as const);
        return new Decoder(this.config, new Map(copies), this.lora?.clone());
      }),
    );
  }

  /**
   * The same weights with other adapters, or none: no second copy, so this decoder must outlive it.
   *
   * @param lora - owned by the new decoder
   */
  withLora(lora?: Lora): Decoder {
    const other = new Decoder(this.config, this.parameters, lora);
    other.#borrows = true;
    return other;
  }

  dispose(): void {
    if (!this.#borrows) for (const parameter of this.parameters.values()) parameter.dispose();
    this.lora?.dispose();
    this.#rope?.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** Queries `[N, heads, headDim]`, keys and values `[N, kvHeads, headDim]`. */
  #project(layer: Layer, x: Tensor): [Tensor, Tensor, Tensor] {
    const { heads, kvHeads, headDim, normEps } = this.config;
    const widths = [heads * headDim, kvHeads * headDim, kvHeads * headDim];
    const parts =
      layer.qkv.length === 1
        ? apply(layer.qkv[0]!, x).splitWithSizes(widths, -1)
        : layer.qkv.map((p) => apply(p, x));
    const [q, k, v] = parts.map((part) => part.reshape([-1, part.size(-1) / headDim, headDim])) as [
      Tensor,
      Tensor,
      Tensor,
    ];
    if (!layer.queryNorm || !layer.keyNorm) return [q, k, v];
    return [
      rmsNorm(q, [headDim], layer.queryNorm.weight, normEps),
      rmsNorm(k, [headDim], layer.keyNorm.weight, normEps),
      v,
    ];
  }

  #feedForward(layer: Layer, x: Tensor): Tensor {
    const up = apply(layer.up, x);
    return apply(layer.down, layer.gate ? this.#activate(apply(layer.gate, x)).mul(up) : this.#activate(up));
  }

  #activate(x: Tensor): Tensor {
    const { activation } = this.config;
    if (activation === 'silu') return silu(x);
    return gelu(x, { approximate: activation === 'gelu_tanh' ? 'tanh' : 'none' });
  }

  #norm(x: Tensor, { weight, bias }: Linear): Tensor {
    const { hiddenSize, normEps, family } = this.config;
    return family === 'gpt2'
      ? layerNorm(x, [hiddenSize], weight, bias, normEps)
      : rmsNorm(x, [hiddenSize], weight, normEps);
  }
}

function apply({ weight, bias, adapter }: Linear, x: Tensor): Tensor {
  const y = linear(x, weight, bias);
  return adapter ? adapter.addTo(y, x) : y;
}

import {
  cat,
  type DType,
  embedding,
  gelu,
  keep,
  layerNorm,
  linear,
  noGrad,
  packedLinear,
  packLinear,
  rmsNorm,
  silu,
  type Tensor,
  tidy,
} from '@grpo/torch';
import type { DecoderConfig } from './config.js';
import { type AttendStep, decodeStep, type StepLayer } from './decode-step.js';
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
  /** How many outputs, where the weight is laid out for a few rows: for decoding. */
  packedOutputs?: number;
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
  /** Gate and up in one. */
  gateUp?: Linear;
  down: Linear;
}

/** A transformer decoder over packed tokens; padding is not a concept here. */
export class Decoder {
  #layers: Layer[];
  readonly #embedding: Tensor;
  readonly #positions: Tensor | undefined;
  readonly #finalNorm: Linear;
  readonly #head: Tensor;
  #packedHead: Tensor | undefined;
  readonly #rope: Rope | undefined;
  /** The weights are another decoder's. */
  #borrows = false;
  /** What was laid out for decoding: the only tensors that such a decoder owns. */
  #layout: Tensor[] | undefined;

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
      const input = x;
      // Frees what a layer computes at its end; what the backward pass needs, autograd holds.
      x = tidy(() => {
        const [q, k, v] = this.#project(layer, this.#norm(input, layer.attentionNorm));
        const [turnedQ, turnedK] = rotation ? [rotate(q, rotation), rotate(k, rotation)] : [q, k];
        const attended = input.add(apply(layer.output, attend(i, turnedQ, turnedK, v).flatten(-2)));
        return attended.add(this.#feedForward(layer, this.#norm(attended, layer.mlpNorm)));
      });
      input.dispose();
    }
    return this.#norm(x, this.#finalNorm);
  }

  /** Whether there are operators of our own for a decode step: `decode` is for such decoders only. */
  get fuses(): boolean {
    return this.device === 'cpu' && (this.dtype === 'float32' || this.dtype === 'bfloat16');
  }

  /** Hidden states of one new token a row, without gradients: what `hidden` computes, in fewer passes. */
  decode({ ids_N, positions_N }: PackedTokens, attend: AttendStep): Tensor {
    const rotation = this.#rope?.at(positions_N);
    const layers = this.#layers.map((layer): StepLayer => {
      const { queryNorm, keyNorm } = layer;
      return {
        ...layer,
        turning: { rotation, queryNorm: queryNorm?.weight ?? null, keyNorm: keyNorm?.weight ?? null },
        qkv: (x) => this.#projections(layer, x),
        output: (x) => apply(layer.output, x),
        gateUp: (x) => this.#gateUp(layer, x),
        down: (x) => apply(layer.down, x),
      };
    });
    const places = this.#positions ? embedding(this.#positions, positions_N) : null;
    return decodeStep(
      this.config,
      layers,
      this.#finalNorm,
      embedding(this.#embedding, ids_N),
      places,
      attend,
    );
  }

  /** The vocabulary projection: `[vocabSize, hiddenSize]`. */
  get head(): Tensor {
    return this.#head;
  }

  /** Scores of the next token, in float32: `[M, hiddenSize]` → `[M, vocabSize]`. */
  logits(hidden_MD: Tensor): Tensor {
    const scores = this.#packedHead
      ? packedLinear(hidden_MD, this.#packedHead, this.config.vocabSize)
      : linear(hidden_MD, this.#head);
    return scores.to('float32');
  }

  /**
   * The same decoder for many passes over about so many tokens, without gradients: projections of the same input are
   * one, and weights are laid out for it. To be disposed before the weights change.
   */
  forDecoding(rows: number): Decoder {
    const other = this.withLora(this.lora);
    const layout: Tensor[] = [];
    const own = (tensor: Tensor) => {
      layout.push(keep(tensor));
      return tensor;
    };
    const pack = ({ weight, bias, ...rest }: Linear): Linear => {
      return { ...rest, weight: own(packLinear(weight, rows)), bias, packedOutputs: weight.size(0) };
    };
    const joined = (parts: readonly Linear[]): Linear => {
      if (parts.length === 1) return parts[0]!;
      const bias = parts[0]!.bias && own(cat(parts.map((part) => part.bias!)));
      return { weight: cat(parts.map((part) => part.weight)), bias };
    };
    noGrad(() =>
      tidy(() => {
        other.#layers = this.#layers.map((layer) => ({
          ...layer,
          qkv: joinable(layer.qkv) ? [pack(joined(layer.qkv))] : layer.qkv.map(pack),
          output: pack(layer.output),
          ...(layer.gate && joinable([layer.gate, layer.up])
            ? { gateUp: pack(joined([layer.gate, layer.up])) }
            : { ...(layer.gate && { gate: pack(layer.gate) }), up: pack(layer.up) }),
          down: pack(layer.down),
        }));
        other.#packedHead = own(packLinear(this.#head, rows));
      }),
    );
    other.#layout = layout;
    return other;
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
    this.#rope?.dispose();
    if (this.#layout) for (const tensor of this.#layout) tensor.dispose();
    else this.lora?.dispose();
    if (!this.#borrows) for (const parameter of this.parameters.values()) parameter.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** Queries `[N, heads × headDim]`, keys and values `[N, kvHeads × headDim]`. */
  #projections({ qkv }: Layer, x: Tensor): [Tensor, Tensor, Tensor] {
    const { heads, kvHeads, headDim } = this.config;
    const widths = [heads * headDim, kvHeads * headDim, kvHeads * headDim];
    const parts =
      qkv.length === 1 ? apply(qkv[0]!, x).splitWithSizes(widths, -1) : qkv.map((p) => apply(p, x));
    return parts as [Tensor, Tensor, Tensor];
  }

  /** Queries `[N, heads, headDim]`, keys and values `[N, kvHeads, headDim]`. */
  #project(layer: Layer, x: Tensor): [Tensor, Tensor, Tensor] {
    const { headDim, normEps } = this.config;
    const [q, k, v] = this.#projections(layer, x).map((part) =>
      part.reshape([-1, part.size(-1) / headDim, headDim]),
    ) as [Tensor, Tensor, Tensor];
    if (!layer.queryNorm || !layer.keyNorm) return [q, k, v];
    return [
      rmsNorm(q, [headDim], layer.queryNorm.weight, normEps),
      rmsNorm(k, [headDim], layer.keyNorm.weight, normEps),
      v,
    ];
  }

  /** What is activated and, in a gated layer, what that is multiplied with. */
  #gateUp({ gateUp, gate, up }: Layer, x: Tensor): [Tensor, Tensor | null] {
    if (gateUp)
      return apply(gateUp, x).splitWithSizes(Array(2).fill(this.config.intermediateSize), -1) as [
        Tensor,
        Tensor,
      ];
    return gate ? [apply(gate, x), apply(up, x)] : [apply(up, x), null];
  }

  #feedForward(layer: Layer, x: Tensor): Tensor {
    const [gate, up] = this.#gateUp(layer, x);
    const activated = this.#activate(gate);
    return apply(layer.down, up ? activated.mul(up) : activated);
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

function apply({ weight, bias, adapter, packedOutputs }: Linear, x: Tensor): Tensor {
  const y =
    packedOutputs === undefined ? linear(x, weight, bias) : packedLinear(x, weight, packedOutputs, bias);
  return adapter ? adapter.addTo(y, x) : y;
}

/** Adapters belong to one projection each, and so do biases that not all of them have. */
const joinable = (projections: readonly Linear[]) =>
  projections.every(({ adapter, bias }) => !adapter && (bias === null) === (projections[0]!.bias === null));

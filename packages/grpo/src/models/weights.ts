import { type DType, keep, noGrad, type Tensor, tensor, tidy } from '@grpo/torch';
import type { DecoderConfig } from './config.js';
import { namesOf } from './parameters.js';
import { Rope } from './rope.js';

/** A norm's scale and, for a layer norm, its shift. */
export interface Norm {
  weight: Tensor;
  bias: Tensor | null;
}

/** A projection: `[out, in]` and `[out]`. */
export interface Linear {
  /** In the checkpoint, without `.weight`: adapters are found by it. */
  name: string;
  weight: Tensor;
  bias: Tensor | null;
}

/** The norms of one layer: what `DecoderConfig.normPlacement` and `qkNorm` ask for. */
export interface LayerNorms {
  attentionNorm: Norm | undefined;
  attentionAfterNorm: Norm | undefined;
  queryNorm: Tensor | null;
  keyNorm: Tensor | null;
  mlpNorm: Norm | undefined;
  mlpAfterNorm: Norm | undefined;
}

/** The tensors of one layer. */
export interface LayerWeights extends LayerNorms {
  /** One joined projection, or query, key and value. */
  qkv: readonly Linear[];
  output: Linear;
  /** One projection, joined where the block is gated, or the activation's input and its factor. */
  gateUp: readonly Linear[];
  down: Linear;
}

/** A model's tensors by their roles. They are owned here; the decoders that share them own none. */
export class Weights implements Disposable {
  readonly embedding: Tensor;
  /** Factor of the embeddings, as the dtype holds it. */
  readonly embeddingScale: number;
  /** Learned positions, where the family has them; else `ropes`. */
  readonly positions: Tensor | undefined;
  /** As in the configuration. */
  readonly ropes: readonly Rope[];
  readonly layers: readonly LayerWeights[];
  readonly finalNorm: Norm;
  /** The vocabulary projection: `[vocabSize, hiddenSize]`. */
  readonly head: Tensor;

  /** @param parameters - by checkpoint name, projections as [out, in]; owned from now on */
  constructor(
    readonly config: DecoderConfig,
    readonly parameters: ReadonlyMap<string, Tensor>,
  ) {
    const names = namesOf(config);
    const weight = (name: string) => parameters.get(`${name}.weight`)!;
    const linear = (name: string): Linear => ({
      name,
      weight: weight(name),
      bias: parameters.get(`${name}.bias`) ?? null,
    });
    const norm = (name: string | undefined) => (name === undefined ? undefined : linear(name));
    const factor = (name: string | undefined) => (name === undefined ? null : weight(name));
    this.embedding = weight(names.embedding);
    this.embeddingScale = tidy(() => tensor([config.embeddingScale], [], { dtype: this.dtype }).item());
    this.positions = names.positions ? weight(names.positions) : undefined;
    this.ropes = config.ropes.map((rope) => new Rope(rope, this.dtype, this.device));
    this.layers = Array.from({ length: config.layers }, (_, i) => {
      const layer = names.layer(i);
      return {
        attentionNorm: norm(layer.attentionNorm),
        attentionAfterNorm: norm(layer.attentionAfterNorm),
        qkv: layer.qkv.map(linear),
        queryNorm: factor(layer.queryNorm),
        keyNorm: factor(layer.keyNorm),
        output: linear(layer.output),
        mlpNorm: norm(layer.mlpNorm),
        mlpAfterNorm: norm(layer.mlpAfterNorm),
        gateUp: layer.gateUp.map(linear),
        down: linear(layer.down),
      };
    });
    this.finalNorm = linear(names.finalNorm);
    this.head = config.tied ? this.embedding : weight(names.head);
  }

  get dtype(): DType {
    return this.embedding.dtype;
  }

  get device(): string {
    return this.embedding.device;
  }

  [Symbol.dispose](): void {
    for (const rope of this.ropes) rope.dispose();
    for (const parameter of this.parameters.values()) parameter.dispose();
  }
}

/** Copies of tensors by name, without gradients. */
export const copiesOf = (tensors: ReadonlyMap<string, Tensor>): Map<string, Tensor> =>
  noGrad(() =>
    tidy(() => new Map([...tensors].map(([name, tensor]) => [name, keep(tensor.detach().clone())]))),
  );

import { type DType, keep, noGrad, type Tensor, tidy } from '@grpo/torch';
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

/** The tensors of one layer. */
export interface LayerWeights {
  attentionNorm: Norm;
  /** One joined projection, or query, key and value. */
  qkv: readonly Linear[];
  queryNorm: Tensor | null;
  keyNorm: Tensor | null;
  output: Linear;
  mlpNorm: Norm;
  gate: Linear | undefined;
  up: Linear;
  down: Linear;
}

/** A model's tensors by their roles. They are owned here; the decoders that share them own none. */
export class Weights implements Disposable {
  readonly embedding: Tensor;
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
    this.embedding = weight(names.embedding);
    this.positions = names.positions ? weight(names.positions) : undefined;
    this.ropes = config.ropes.map((rope) => new Rope(rope, this.dtype, this.device));
    this.layers = Array.from({ length: config.layers }, (_, i) => {
      const layer = names.layer(i);
      return {
        attentionNorm: linear(layer.attentionNorm),
        qkv: layer.qkv.map(linear),
        queryNorm: config.qkNorm !== 'none' ? weight(layer.queryNorm) : null,
        keyNorm: config.qkNorm !== 'none' ? weight(layer.keyNorm) : null,
        output: linear(layer.output),
        mlpNorm: linear(layer.mlpNorm),
        gate: layer.gate ? linear(layer.gate) : undefined,
        up: linear(layer.up),
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

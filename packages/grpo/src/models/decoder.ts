import { dtypeSize, linear, type Tensor } from '@grpo/torch';
import type { Engine } from '../memory/decoding.js';
import type { DecoderConfig } from './config.js';
import type { Lora } from './lora/lora.js';
import { type Layer, Transformer, widthsOf } from './transformer.js';
import { copiesOf, type LayerWeights, type Linear, type Norm, Weights } from './weights.js';

/** The decoder that trains and scores. It owns no tensor: its weights and adapters must outlive it. */
export class Decoder extends Transformer {
  readonly layers: readonly Layer[];

  /** @param lora - adapters of the weights' projections */
  constructor(
    weights: Weights,
    readonly lora?: Lora,
  ) {
    super(weights);
    this.layers = weights.layers.map((layer) => layerOf(layer, weights.config, lora));
  }

  get finalNorm(): Norm {
    return this.weights.finalNorm;
  }

  /** All weights, by checkpoint name. */
  get parameters(): ReadonlyMap<string, Tensor> {
    return this.weights.parameters;
  }

  /** Weights that training changes: the adapters where there are some, else all. */
  get trainable(): ReadonlyMap<string, Tensor> {
    return this.lora?.parameters ?? this.parameters;
  }

  /** Whether there are operators of our own for a decode step: `DecodingDecoder.decode` is for such decoders only. */
  get fuses(): boolean {
    return this.device === 'cpu' && (this.dtype === 'float32' || this.dtype === 'bfloat16');
  }

  /** Traits of the engine that its memory is estimated from. */
  get engine(): Engine {
    return { size: dtypeSize(this.dtype) as Engine['size'], fuses: this.fuses };
  }

  /** The vocabulary projection: `[vocabSize, hiddenSize]`. */
  get head(): Tensor {
    return this.weights.head;
  }

  /** A copy with weights of its own and no gradients: a frozen reference. */
  clone(): OwningDecoder {
    return new OwningDecoder(this.config, copiesOf(this.parameters), this.lora?.clone());
  }

  /** The same weights with other adapters, or none: no second copy. */
  withLora(lora?: Lora): Decoder {
    return new Decoder(this.weights, lora);
  }

  protected scores(hidden_MD: Tensor): Tensor {
    return linear(hidden_MD, this.head);
  }
}

/** A decoder with weights and adapters of its own, which go with it. */
export class OwningDecoder extends Decoder implements Disposable {
  /**
   * @param parameters - by checkpoint name, projections as [out, in]; owned by the decoder from now on
   * @param lora - adapters of these projections; owned as well
   */
  constructor(config: DecoderConfig, parameters: ReadonlyMap<string, Tensor>, lora?: Lora) {
    super(new Weights(config, parameters), lora);
  }

  dispose(): void {
    this.weights[Symbol.dispose]();
    this.lora?.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

function layerOf(weights: LayerWeights, config: DecoderConfig, lora?: Lora): Layer {
  const projection = ({ name, weight, bias }: Linear) => {
    const adapter = lora?.of(name);
    return (x: Tensor) => {
      const y = linear(x, weight, bias);
      return adapter ? adapter.addTo(y, x) : y;
    };
  };
  const each = (parts: readonly Linear[], widths: readonly number[]) => {
    const projections = parts.map(projection);
    const isJoined = parts.length < widths.length;
    return (x: Tensor) =>
      isJoined ? projections[0]!(x).splitWithSizes(widths, -1) : projections.map((part) => part(x));
  };
  const widths = widthsOf(config);
  const [qkv, gateUp] = [each(weights.qkv, widths.qkv), each(weights.gateUp, widths.gateUp)];
  return {
    ...weights,
    qkv: (x) => qkv(x) as [Tensor, Tensor, Tensor],
    output: projection(weights.output),
    gateUp: (x) => gateUp(x) as [Tensor, Tensor?],
    down: projection(weights.down),
  };
}

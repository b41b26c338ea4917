import { addNorm, gatedActivation, gelu, type Tensor, tidy } from '@grpo/torch';
import type { DecoderConfig } from './config.js';
import type { Rotation } from './rope.js';
import type { Layer } from './transformer.js';
import type { Norm } from './weights.js';

/**
 * Attention of the new token of each row to the earlier ones: `q` `[N, heads × headDim]`, `k` and `v`
 * `[N, kvHeads × headDim]` as projected → `[N, heads × headDim]`. It applies norms and rotation to queries and keys.
 */
export type AttendStep = (layer: number, qkv: readonly [Tensor, Tensor, Tensor], turning: Turning) => Tensor;

/** Norms and rotation of queries and keys, before their product. */
export interface Turning {
  rotation: Rotation | undefined;
  queryNorm: Tensor | null;
  keyNorm: Tensor | null;
}

/**
 * Hidden states after the final norm of one new token per row, by operators that do what lies between two products in one
 * pass. The same numbers as `Transformer.hidden` but for rounding.
 *
 * @param input.x - embeddings `[N, hiddenSize]`
 * @param input.added - to be added to them, such as embeddings of positions
 */
export function decodeStep(
  { activation, normEps }: DecoderConfig,
  layers: Iterable<Layer>,
  finalNorm: Norm,
  { x, added, rotation }: { x: Tensor; added: Tensor | null; rotation: Rotation | undefined },
  attend: AttendStep,
): Tensor {
  let [residual, delta, i] = [x, added, 0];
  const norm = ({ weight, bias }: Norm) => {
    const [sum, normed] = addNorm(residual, delta, weight, bias, normEps);
    residual = sum;
    return normed;
  };
  for (const layer of layers) {
    // A layer's intermediates are freed at its end.
    [residual, delta] = tidy(() => {
      const { queryNorm, keyNorm } = layer;
      const qkv = layer.qkv(norm(layer.attentionNorm));
      delta = layer.output(attend(i++, qkv, { rotation, queryNorm, keyNorm }));
      const [gate, up] = layer.gateUp(norm(layer.mlpNorm));
      const activated = activation === 'gelu' ? plainGelu(gate, up) : gatedActivation(gate, up, activation);
      return [residual, layer.down(activated)];
    });
  }
  return norm(finalNorm);
}

const plainGelu = (gate: Tensor, up: Tensor | null) => (up ? gelu(gate).mul(up) : gelu(gate));

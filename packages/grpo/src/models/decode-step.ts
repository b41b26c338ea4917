import { addNorm, gatedActivation, gelu, type Tensor, tidy } from '@grpo/torch';
import type { DecoderConfig } from './config.js';
import type { Rotation } from './rope.js';
import { type Layer, rotationOf } from './transformer.js';
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
 * @param input.rotations - of the tokens, by each of the configuration's ropes
 */
export function decodeStep(
  config: DecoderConfig,
  layers: readonly Layer[],
  finalNorm: Norm,
  { x, added, rotations }: { x: Tensor; added: Tensor | null; rotations: readonly Rotation[] },
  attend: AttendStep,
): Tensor {
  const { activation, normEps } = config;
  let [residual, delta] = [x, added];
  const norm = ({ weight, bias }: Norm) => {
    const [sum, normed] = addNorm(residual, delta, weight, bias, normEps);
    residual = sum;
    return normed;
  };
  for (const [i, layer] of layers.entries()) {
    // A layer's intermediates are freed at its end.
    [residual, delta] = tidy(() => {
      const { queryNorm, keyNorm } = layer;
      const rotation = rotationOf(config, i, rotations);
      const qkv = layer.qkv(norm(layer.attentionNorm));
      delta = layer.output(attend(i, qkv, { rotation, queryNorm, keyNorm }));
      const [gate, up] = layer.gateUp(norm(layer.mlpNorm));
      const activated = activation === 'gelu' ? plainGelu(gate, up) : gatedActivation(gate, up, activation);
      return [residual, layer.down(activated)];
    });
  }
  return norm(finalNorm);
}

const plainGelu = (gate: Tensor, up: Tensor | null) => (up ? gelu(gate).mul(up) : gelu(gate));

import { addNorm, type Tensor, tidy } from '@grpo/torch';
import type { DecoderConfig } from './config.js';
import type { Rotation } from './rope.js';
import { activate, type Layer, rotationOf } from './transformer.js';
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
 * @param layers - with the factors of RMS norms in place of their weights
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
  const { normEps, residualScale } = config;
  let [residual, delta, factor]: [Tensor, Tensor | null, number] = [x, added, 1];
  /** Adds what a block gave to the residual stream, and norms it. */
  const before = (norm: Norm | undefined) => {
    const [weight, bias] = [norm?.weight ?? null, norm?.bias ?? null];
    const [sum, normed] = addNorm(residual, delta, weight, bias, normEps, { factor });
    [residual, delta] = [sum, null];
    return normed;
  };
  const after = (y: Tensor, norm: Norm | undefined) => {
    delta = norm ? addNorm(y, null, norm.weight, norm.bias, normEps)[1] : y;
    factor = residualScale;
  };
  for (const [i, layer] of layers.entries()) {
    // A layer's intermediates are freed at its end.
    [residual, delta] = tidy(() => {
      const rotation = rotationOf(config, i, rotations);
      const attended = attendNormed(config, layer, layer.qkv(before(layer.attentionNorm)), (qkv, norms) =>
        attend(i, qkv, { rotation, ...norms }),
      );
      after(layer.output(attended), layer.attentionAfterNorm);
      const [gate, up] = layer.gateUp(before(layer.mlpNorm));
      after(layer.down(activate(config, gate, up)), layer.mlpAfterNorm);
      return [residual, delta];
    });
  }
  return before(finalNorm);
}

/** Attention that norms the heads of queries and keys itself; a norm of all heads as one comes before. */
function attendNormed(
  { qkNorm, normEps }: DecoderConfig,
  { queryNorm, keyNorm }: Layer,
  [q, k, v]: readonly [Tensor, Tensor, Tensor],
  attend: (qkv: Parameters<AttendStep>[1], norms: Omit<Turning, 'rotation'>) => Tensor,
): Tensor {
  if (qkNorm !== 'whole') return attend([q, k, v], { queryNorm, keyNorm });
  const normed = (x: Tensor, factor: Tensor | null) => addNorm(x, null, factor, null, normEps)[1];
  return attend([normed(q, queryNorm), normed(k, keyNorm), v], { queryNorm: null, keyNorm: null });
}

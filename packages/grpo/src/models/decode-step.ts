import { addNorm, gatedActivation, gelu, type Tensor, tidy } from '@grpo/torch';
import type { DecoderConfig } from './config.js';

/**
 * How the new token of each row meets what came before: `q` `[N, heads × headDim]`, `k` and `v` `[N, kvHeads × headDim]`
 * as projected → `[N, heads × headDim]`. Norms and rotation of queries and keys are left to it.
 */
export type AttendStep = (layer: number, qkv: readonly [Tensor, Tensor, Tensor], turning: Turning) => Tensor;

/** What is done to queries and keys before they meet. */
export interface Turning {
  rotation: { cos: Tensor; sin: Tensor } | undefined;
  queryNorm: Tensor | null;
  keyNorm: Tensor | null;
}

/** A norm's scale and, for a layer norm, its shift. */
interface Norm {
  weight: Tensor;
  bias: Tensor | null;
}

/** A layer as a decode step needs it. */
export interface StepLayer {
  attentionNorm: Norm;
  mlpNorm: Norm;
  turning: Turning;
  /** `[N, hiddenSize]` → queries, keys and values. */
  qkv(x: Tensor): readonly [Tensor, Tensor, Tensor];
  output(x: Tensor): Tensor;
  /** What is activated and, in a gated layer, what that is multiplied with. */
  gateUp(x: Tensor): readonly [Tensor, Tensor | null];
  down(x: Tensor): Tensor;
}

/**
 * Hidden states after the final norm of one new token a row, by operators that do what lies between two products in one
 * pass. The same numbers as `Decoder.hidden` but for rounding.
 *
 * @param x - embeddings `[N, hiddenSize]`
 * @param added - to be added to them, such as embeddings of positions
 */
export function decodeStep(
  { activation, normEps }: DecoderConfig,
  layers: Iterable<StepLayer>,
  finalNorm: Norm,
  x: Tensor,
  added: Tensor | null,
  attend: AttendStep,
): Tensor {
  let [residual, delta, i] = [x, added, 0];
  const norm = ({ weight, bias }: Norm) => {
    const [sum, normed] = addNorm(residual, delta, weight, bias, normEps);
    residual = sum;
    return normed;
  };
  for (const layer of layers) {
    // Frees what a layer computes at its end.
    [residual, delta] = tidy(() => {
      delta = layer.output(attend(i++, layer.qkv(norm(layer.attentionNorm)), layer.turning));
      const [gate, up] = layer.gateUp(norm(layer.mlpNorm));
      const activated = activation === 'gelu' ? plainGelu(gate, up) : gatedActivation(gate, up, activation);
      return [residual, layer.down(activated)];
    });
  }
  return norm(finalNorm);
}

const plainGelu = (gate: Tensor, up: Tensor | null) => (up ? gelu(gate).mul(up) : gelu(gate));

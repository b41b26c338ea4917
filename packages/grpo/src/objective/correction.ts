import { noGrad, type Tensor, where } from '@grpo/torch';
import type { CorrectionMeasure } from '../config/choices.js';
import type { Config } from '../config/schema.js';
import { binaryKl } from './binary-kl.js';
import type { TokenRows } from './token-rows.js';

/**
 * Distances of trainer and sampler at a token, from its log-probs:
 * - `probability`: |p − q| (IPO, prime-rl)
 * - `k3`: r − 1 − log r with r = p / q, an estimate of KL(sampler ‖ trainer) (verl's rollout correction)
 * - `binary_kl`: the larger of both KLs of two outcomes, the token and any other (KPop, Ring team, 2026)
 */
const distances: Record<
  Exclude<CorrectionMeasure, 'ratio'>,
  (trainer_T: Tensor, sampler_T: Tensor) => Tensor
> = {
  probability: (trainer_T, sampler_T) => trainer_T.exp().sub(sampler_T.exp()).abs(),
  k3: (trainer_T, sampler_T) => {
    const gap_T = trainer_T.sub(sampler_T);
    return gap_T.expm1().sub(gap_T);
  },
  binary_kl: (trainer_T, sampler_T) => binaryKl(trainer_T, sampler_T).maximum(binaryKl(sampler_T, trainer_T)),
};

type Level = Exclude<Config['correction']['level'], 'off'>;

/** A value of each token, from those of its completion: `[T]` → `[T]`. */
const levels: Record<Level, (values_T: Tensor, rows: TokenRows) => Tensor> = {
  token: (values_T) => values_T,
  sequence: (values_T, rows) => rows.spread(rows.sum(values_T)),
  sequence_mean: (values_T, rows) => rows.spread(rows.mean(values_T)),
  sequence_max: (values_T, rows) => rows.spread(rows.max(values_T)),
};

/** Whether all tokens of a completion have one weight, which is what the bounds are for. */
export const isWholeWeight = ({ level, measure }: Config['correction']): boolean =>
  measure === 'ratio' && (level === 'sequence' || level === 'sequence_mean');

/**
 * Importance weights for a sampler whose log-probs are not quite the trainer's: `[T]`, detached. A weight is
 * exp(trainer − sampler) of its token, or of a completion's summed or mean log-probs; it is bounded (truncated importance
 * sampling, Yao et al., 2025), or set to 0 where the measure is out of bounds (IcePop, Ring team, 2025).
 *
 * @param trainer_T - log-probs of the policy that sampled, by the trainer
 * @param sampler_T - the same by the sampler
 */
export function samplerCorrection(
  correction: Config['correction'] & { level: Level },
  trainer_T: Tensor,
  sampler_T: Tensor,
  rows: TokenRows,
): Tensor {
  return noGrad(() => {
    const { level, measure, action, min, max } = correction;
    const gap_T = trainer_T.sub(sampler_T);
    const measured_T =
      measure === 'ratio'
        ? levels[level](gap_T, rows).exp()
        : levels[level](distances[measure](trainer_T, sampler_T), rows);
    const weight_T = isWholeWeight(correction) ? measured_T : gap_T.exp();
    if (action === 'truncate')
      return min === undefined && max === undefined ? weight_T : weight_T.clamp(min ?? null, max ?? null);
    // A distance of 0 may be below it by rounding.
    const inside_T = measured_T
      .ge(min ?? Number.NEGATIVE_INFINITY)
      .logicalAnd(measured_T.le(max ?? Number.POSITIVE_INFINITY));
    return action === 'mask' ? where(inside_T, weight_T, 0) : inside_T.to(weight_T.dtype);
  });
}

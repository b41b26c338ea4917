/**
 * TRL's numbers where ours depart from them on purpose, for `objective.compat`. The formulas know nothing of them:
 * - equal rewards that are not dyadic fractions leak small advantages of one sign
 * - the entropy bonus is a mean over the micro-batch, so that a split changes it (ours: over the update)
 * - up to 1.10 `luspo` averages over padding too, once a choice makes its terms differ from token to token
 * - token means divide by the mean count of the rollout's updates, up to 1.10 by their sum (see `update.tokens`)
 */
import { type Tensor, tensor, tidy } from '@grpo/torch';
import type { Compat } from '../config/choices.js';
import { tokenWeights } from './aggregation.js';
import type { LossConventions, LossInput } from './loss-types.js';
import type { RewardColumns } from './reward-columns.js';
import type { AdvantageSettings } from './settings.js';
import type { TokenRows } from './token-rows.js';

/** How the loss of TRL differs from ours, by its version. */
export const trlLoss: Record<Compat, Partial<LossConventions>> = {
  trl: { entropyShare },
  'trl-1.10': { entropyShare, trainedOnly: (input) => input, weights: weightsBefore111 },
};

function entropyShare({ lengths, update }: LossInput): number {
  return lengths.length / update.completions;
}

function weightsBefore111(input: LossInput, rows: TokenRows): Float64Array {
  const { settings, update } = input;
  const isLuspo = settings.policy === 'clip' && settings.aggregation === 'sum';
  const differ =
    settings.entropy.topShare < 1 || settings.ratio !== 'sequence' || Array.from(input.betas).some(Boolean);
  if (!isLuspo || !differ)
    return rows.maskNumbers(rows.spreadNumbers(tokenWeights(settings, rows.counts, update)));
  const width = Math.max(...rows.lengths);
  return rows.spreadNumbers(rows.counts.map((count) => count / (width * update.completions)));
}

/**
 * Advantages in float32, by the sums that TRL takes: rounding leaves a group of equal rewards small ones of one sign.
 * Equal rewards of 0.2 get −1.49e-4 in a group of 8, where ours get 0.
 */
export function trlAdvantages(
  { columns, weights, totals }: RewardColumns,
  groupSize: number,
  { scale, combine, epsilon }: AdvantageSettings,
): Float64Array {
  return tidy(() => {
    if (combine === 'sum_then_normalize') return compared(totals, groupSize, scale, epsilon);
    const parts = columns.map((column) => compared(column, groupSize, 'group', epsilon));
    const sums = totals.map((total, b) =>
      Number.isNaN(total) ? total : parts.reduce((sum, part, k) => sum + weights[k]! * part[b]!, 0),
    );
    return compared(sums, sums.length, 'group', epsilon);
  });
}

function compared(
  values: Float64Array,
  size: number,
  scale: AdvantageSettings['scale'],
  epsilon: number,
): Float64Array {
  const shape = [values.length / size, size];
  const known = tensor(
    values.map((value) => Number(!Number.isNaN(value))),
    shape,
    { dtype: 'float32' },
  );
  const filled = tensor(
    values.map((value) => (Number.isNaN(value) ? 0 : value)),
    shape,
    { dtype: 'float32' },
  );
  const centred = filled.sub(meanOf(filled, known)).mul(known);
  const whole = [1, values.length];
  const deviation =
    scale === 'batch' ? deviationOf(filled.view(whole), known.view(whole)) : deviationOf(filled, known);
  const advantages = scale === 'none' ? centred : centred.div(deviation.add(epsilon));
  // A single value has no deviation, and gets 0.
  return Float64Array.from(advantages.flatten().toNumbers(), (x) => (Number.isNaN(x) ? 0 : x));
}

const meanOf = (values: Tensor, known: Tensor): Tensor =>
  values
    .mul(known)
    .sumDim([1], true)
    .div(known.sumDim([1], true));

/** With ddof 1: NaN for a single value. */
function deviationOf(values: Tensor, known: Tensor): Tensor {
  const count = known.sumDim([1], true);
  const squares = values.sub(meanOf(values, known)).pow(2);
  return meanOf(squares, known)
    .mul(count.div(count.sub(1)))
    .sqrt();
}

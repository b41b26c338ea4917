/** TRL's advantages, with the small ones of one sign that rounding leaves to a group of equal rewards. */
import { type Tensor, tensor, tidy } from '@grpo/torch';
import type { RewardColumns } from './reward-columns.js';
import type { AdvantageSettings } from './settings.js';

/** In float32, by the sums that TRL takes: equal rewards of 0.2 get −1.49e-4 in a group of 8, where ours get 0. */
export function leakedAdvantages(
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

/** Rewards belong to the completions that they stand beside. */
import { stepCheck } from '../check.js';
import { type Evidence, notApplicable, pass, warn } from '../outcome.js';
import { groupsOf } from '../statistics.js';

/** Natural logarithm of the probability below which a pattern is no accident: about 1e-6. */
const ACCIDENT = -14;

export const rewardOrderChecks = [
  stepCheck({
    code: 'B21.cycled',
    title: 'Rewards do not repeat in turn',
    stage: 'reward',
    kind: 'heuristic',
    level: 4,
    threshold:
      'not: a reward’s values over and over in the same order, one for each prompt or for each place in a group, where values as frequent as these do so by chance in less than one step in a million',
    source: 'trl#6533, seed 001: fewer values than completions, handed out in turn; proposal',
    remedy:
      'Return one value a completion, in the order of the completions; refuse any other number of values.',
    consequence: { rerun: 'GRPO', checkpointsVoid: true },
    induces: ['B30', 'B31', 'B33'],
    settles: 'The rewards of one step computed again, each by itself: they must be the recorded ones.',
    needs: ['rewardNames', 'rewardValues', 'promptOf'],
    test({ rewardNames, rewardValues, promptOf }) {
      const B = promptOf.length;
      const prompts = groupsOf(promptOf).length;
      const periods = [...new Set([prompts, B / prompts])].filter(
        (period) => Number.isInteger(period) && period > 1 && period < B,
      );
      if (periods.length === 0) return notApplicable('several prompts with several completions');
      const cycled = rewardNames.flatMap((name, k): Evidence[] => {
        const column = rewardValues.subarray(k * B, (k + 1) * B);
        const period = periods.find((length) => chanceOf(column, length) < ACCIDENT);
        return period === undefined ? [] : [{ text: name, values: { period } }];
      });
      const measured = { rewards: rewardNames.length, cycled: cycled.length, ...cycled[0]?.values };
      return cycled.length > 0 ? warn(measured, cycled) : pass(measured);
    },
  }),
];

/** Logarithm of the chance that values as frequent as these repeat with a period; 0 when they do not, or are all alike. */
function chanceOf(column: Float64Array, period: number): number {
  const counts = new Map<number, number>();
  for (const value of column) counts.set(value, (counts.get(value) ?? 0) + 1);
  let chance = 0;
  for (let b = period; b < column.length; b++) {
    if (column[b] !== column[b - period]) return 0;
    chance += Math.log(counts.get(column[b]!)! / column.length);
  }
  return chance;
}

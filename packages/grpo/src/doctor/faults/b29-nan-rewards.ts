import { logCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { at } from '../log-view.js';
import { type Evidence, fail, inform, notApplicable, type Outcome, pass, warn } from '../outcome.js';
import { say } from '../sentence.js';

/** Fewest entries that show a contradiction, and the least deviation that is no rounding. */
const [FEW, LEAST] = [3, 1e-3];

export const b29: Fault = {
  code: 'B29',
  name: 'NaN rewards',
  title: 'Rewards are NaN or infinite',
  checks: [
    logCheck({
      code: 'B29.log',
      title: 'The reward is finite',
      stage: 'reward',
      level: 4,
      rank: 6,
      threshold:
        'the reward is finite in every entry that has one; a single reward function may give no value',
      sources: ['huggingface/trl#3079'],
      why: 'A missing reward became NaN, and so did every advantage of its group.',
      remedy: 'Leave missing rewards out of the sum, and completions without any reward out of the group.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B45', 'B30', 'B52'],
      needs: [],
      test(log) {
        const rewards = log.series.entries.flatMap(({ step, values: { reward, reward_failures } }) =>
          // Where every completion's reward failed there is none: B22.log's.
          reward === undefined || (reward_failures ?? 0) > 0 ? [] : [{ step, reward }],
        );
        if (rewards.length === 0) return notApplicable('reward');
        const broken = rewards.filter(({ reward }) => !Number.isFinite(reward));
        const measured = { entries: rewards.length, broken: broken.length };
        const evidence = broken.map(({ step, reward }) => ({
          step,
          text: 'reward',
          values: { value: reward },
        }));
        return broken.length > 0 ? fail(measured, evidence) : pass(measured);
      },
      says: (m) => say`The reward is NaN or infinite in ${m.broken} of ${m.entries} entries.`,
    }),
    logCheck({
      code: 'B29.partial',
      title: 'The reward varies only where one of its functions does',
      stage: 'reward',
      level: 4,
      rank: 7,
      threshold: `reward_std is 0 wherever the deviation of every function is 0; contradictions in ${FEW} entries, and in half of those that show it, are reported. It only informs where groups of them have equal rewards`,
      why: 'Means and deviations of a function leave out completions for which it gives no value, as None, and the total counts these as 0: a function that is right or silent has a mean of 1.',
      remedy:
        'Return a number for every completion, 0 for a wrong one; None is for completions that a function does not judge.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'Call each function by hand on a right and a wrong completion.',
      needs: ['reward_std'],
      test(log): Outcome<{ entries: number; apart: number }> {
        const names = log.names(/^rewards\/.+\/std$/);
        if (names.length === 0) return notApplicable('the deviation of each reward function');
        if (names.some((name) => log.isRounded(name)))
          return notApplicable('deviations that are not rounded');
        const total = log.column('reward_std');
        const still = [...total.keys()].filter((i) => names.every((name) => log.column(name)[i] === 0));
        const apart = still.filter((i) => total[i]! > LEAST);
        // A function may judge some groups alone: then the sums differ between groups, and not within.
        const flat = log.column('frac_reward_zero_std');
        const tell = apart.some((i) => flat[i]! > 0) ? inform : warn;
        const measured = { entries: still.length, apart: apart.length };
        return apart.length >= Math.max(FEW, still.length / 2)
          ? tell(
              measured,
              apart.map((i) => at(log, i, 'reward_std', total[i]!)),
            )
          : pass(measured);
      },
      says: (m) =>
        say`In ${m.apart} of ${m.entries} entries none of the reward functions varies, yet their sum does: a function gives no value (None, NaN) for some completions, or a part of the reward is not in the log.`,
    }),
    stepCheck({
      code: 'B29.advantage',
      title: 'Every advantage is finite, and 0 where the reward is missing',
      stage: 'advantage',
      level: 5,
      rank: 1,
      threshold: 'all finite; exactly 0 for a completion without a total',
      sources: ['huggingface/trl#3079'],
      why: 'A missing reward became NaN, and so did every advantage of its group.',
      remedy: 'Leave completions without a reward out of the group’s mean and give them advantage 0.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B30', 'B31', 'B33', 'B34', 'B43', 'B45', 'B47'],
      proofs: ['native'],
      needs: ['totals', 'advantages'],
      test({ totals, advantages }) {
        const wrong = [...advantages].flatMap((advantage, completion): Evidence[] =>
          Number.isFinite(advantage) && !(Number.isNaN(totals[completion]!) && advantage !== 0)
            ? []
            : [{ completion, values: { advantage, reward: totals[completion]! } }],
        );
        const measured = {
          completions: totals.length,
          unscored: totals.filter(Number.isNaN).length,
          wrong: wrong.length,
        };
        return wrong.length > 0 ? fail(measured, wrong) : pass(measured);
      },
      says: (m) => say`${m.wrong} advantages are NaN, infinite, or not 0 where the reward is missing.`,
    }),
  ],
};

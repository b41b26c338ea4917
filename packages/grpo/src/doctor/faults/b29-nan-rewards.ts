import { logCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { type Evidence, fail, notApplicable, pass } from '../outcome.js';
import { say } from '../sentence.js';

export const b29: Fault = {
  code: 'B29',
  name: 'NaN rewards',
  title: 'Rewards are NaN or infinite',
  checks: [
    logCheck({
      code: 'B29.log',
      title: 'The reward is finite',
      stage: 'reward',
      kind: 'identity',
      level: 4,
      rank: 6,
      threshold:
        'the reward is finite in every entry that has one; a single reward function may give no value',
      sources: ['huggingface/trl#3079'],
      why: 'A missing reward became NaN, and so did every advantage of its group.',
      remedy: 'Leave missing rewards out of the sum, and completions without any reward out of the group.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B45', 'B30', 'B52'],
      proofs: [],
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
    stepCheck({
      code: 'B29.advantage',
      title: 'Every advantage is finite, and 0 where the reward is missing',
      stage: 'advantage',
      kind: 'identity',
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

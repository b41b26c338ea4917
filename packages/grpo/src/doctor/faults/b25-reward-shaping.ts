import { leastSquares } from '../../maths/least-squares.js';
import { largest, mean, sum } from '../../maths/moments.js';
import { logCheck } from '../check.js';
import { BEYOND_NOISE, MIN_ENTRIES } from '../course/run-course.js';
import type { Fault } from '../fault.js';
import { functionOf, rewardNames } from '../log-view.js';
import { fail, notApplicable, type Outcome, pass, warn } from '../outcome.js';
import { say } from '../sentence.js';

/** Largest difference that printing and rounding leave between a reward and the sum of its parts, as a share of the largest reward. */
const EXACT = 1e-3;

export const b25: Fault = {
  code: 'B25',
  name: 'reward shaping',
  title: 'Reward shaping has no effect, or works against its purpose',
  checks: [
    logCheck({
      code: 'B25.log',
      title: 'No reward for the answer falls while the total rises',
      stage: 'reward',
      kind: 'heuristic',
      level: 4,
      rank: 8,
      threshold: `where the total reward gained beyond its noise and kept it, no function that is named for the answer lost more than half of its mean beyond its noise; ${MIN_ENTRIES} entries or more`,
      sources: [],
      why: 'The function with the largest deviation within groups decides the advantages: a penalty of characters beside a reward of 0 or 1 leaves nothing of the answer.',
      remedy:
        'Bring the functions to one scale, by weights or by normalizing each before the sum; look at the deviation of each.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B08', 'B16', 'B26', 'B30', 'B54', 'B61'],
      settles: 'The completions at the end: what they earn, and for what.',
      proofs: [],
      needs: ['reward'],
      test(log): Outcome<{ name: string; from: number; to: number; start: number; end: number }> {
        const { course } = log;
        const { answers, others } = course.functions;
        if (answers.length === 0 || others.length === 0)
          return notApplicable('a reward function that is named for the answer, and another');
        const reward = course.of('reward')!;
        if (!course.lastingGain) return pass({ functions: answers.length + others.length });
        const measured = { start: reward.start, end: reward.end };
        for (const metric of answers) {
          const own = course.metric(metric);
          if (!own || own.points.length < MIN_ENTRIES) continue;
          const { from, to, step, beyond } = own.fall;
          const floor = Math.min(0, ...own.points.map(({ value }) => value));
          if (beyond < BEYOND_NOISE || from - to <= (from - floor) / 2) continue;
          const evidence = [{ step, text: metric, values: { value: to } }];
          return warn({ ...measured, name: functionOf(metric), from, to }, evidence);
        }
        return pass(measured);
      },
      says: (m) =>
        say`The reward ${m.name} fell from ${m.from} to ${m.to} while the total rose from ${m.start} to ${m.end}: another function pays for it.`,
    }),
    logCheck({
      code: 'B25.weights',
      title: 'A penalty takes from the reward',
      stage: 'reward',
      kind: 'identity',
      level: 4,
      rank: 7,
      threshold: `where the logged reward is a weighted sum of the logged functions, within ${EXACT} of the largest reward over ${MIN_ENTRIES} entries or more, no function that is never above 0 has a weight below 0 that the others cannot replace`,
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'reward = Σ weight × function. A penalty that is negative already and has a negative weight is paid for.',
      remedy: 'Give such a function a weight above 0, or let it return how much is to be taken off.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B08', 'B16', 'B25', 'B26', 'B30', 'B54', 'B61'],
      proofs: ['log only'],
      needs: ['reward'],
      test(log): Outcome<{ entries: number; name: string; weight: number; usual: number }> {
        const names = rewardNames(log).filter((name) =>
          log.column(`rewards/${name}/mean`).some((value) => value !== 0),
        );
        const entries = log.series.entries.flatMap(({ values }) => {
          const row = [values.reward, ...names.map((name) => values[`rewards/${name}/mean`])];
          return row.every((value) => Number.isFinite(value)) ? [row as number[]] : [];
        });
        if (names.length === 0 || entries.length < MIN_ENTRIES + names.length)
          return notApplicable('a reward and its functions in more entries');
        const [rewards, ...columns] = [...names.keys(), names.length].map((k) =>
          entries.map((row) => row[k]!),
        ) as [number[], ...number[][]];
        const weights = leastSquares(rewards, columns);
        if (!isSum(rewards, columns, weights))
          return notApplicable('a reward that is a weighted sum of the logged functions');
        // A weight is known where the reward is no sum of the others.
        const isKnown = (k: number) => {
          const others = columns.filter((_, other) => other !== k);
          return !isSum(rewards, others, leastSquares(rewards, others));
        };
        const paid = weights.findIndex((weight, k) => weight < 0 && largest(columns[k]!) <= 0 && isKnown(k));
        if (paid < 0) return pass({ entries: entries.length });
        return fail({
          entries: entries.length,
          name: names[paid]!,
          weight: weights[paid]!,
          usual: mean(columns[paid]!),
        });
      },
      says: (m) =>
        say`The function ${m.name} is a penalty, never above 0 (${m.usual} on average), and enters the reward with a weight of ${m.weight}: what it is to punish is paid for.`,
    }),
  ],
};

/** Whether values are the weighted sum of columns, but for rounding. */
function isSum(
  values: readonly number[],
  columns: readonly (readonly number[])[],
  weights: readonly number[],
): boolean {
  const scale = largest(values.map(Math.abs));
  return values.every((value, i) => {
    const off = value - sum(columns.map((column, k) => weights[k]! * column[i]!));
    return Math.abs(off) <= EXACT * scale;
  });
}

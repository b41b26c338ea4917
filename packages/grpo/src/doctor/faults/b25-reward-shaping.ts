import { logCheck } from '../check.js';
import { BEYOND_NOISE, MIN_ENTRIES } from '../course/run-course.js';
import type { Fault } from '../fault.js';
import { functionOf } from '../log-view.js';
import { notApplicable, type Outcome, pass, warn } from '../outcome.js';
import { say } from '../sentence.js';

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
  ],
};

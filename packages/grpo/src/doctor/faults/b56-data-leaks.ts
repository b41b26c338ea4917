import { runCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { keysOf } from '../inputs.js';
import { pass, warn } from '../outcome.js';
import { say } from '../sentence.js';

/** Steps that one batch may serve on purpose, as the updates from one rollout do. */
const FEW = 3;

export const b56: Fault = {
  code: 'B56',
  name: 'data leaks',
  title: 'Data leaks, repeats, or is not what was configured',
  left: 'pre-flight',
  checks: [
    runCheck({
      code: 'B56.repeated',
      title: 'Steps train on different prompts',
      stage: 'data',
      kind: 'heuristic',
      level: 1,
      rank: 8,
      threshold: `reported when more than ${FEW} records all have the same prompts, whatever their order`,
      sources: [],
      why: 'Seen in a loop that took the first batch of a new iterator in every step. Data of so few rows gives it, too.',
      remedy:
        'Make the iterator over the data once, before the loop, and take the next batch in each step; or add data.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      settles: 'The numbers of the rows of two steps, printed by the loader.',
      proofs: ['PyTorch loop'],
      needs: ['promptIds'],
      see: ({ promptIds }) => ({ prompts: [...keysOf(promptIds)].sort().join('\n') }),
      test(seen) {
        const different = new Set(seen.map(({ value }) => value.prompts)).size;
        const measured = { records: seen.length, different };
        return seen.length > FEW && different === 1
          ? warn(
              measured,
              seen.map(({ step }) => ({ step })),
            )
          : pass(measured);
      },
      says: (m) =>
        say`All ${m.records} recorded steps have the same prompts: the data is not moved on, and what is learnt is learnt of these alone.`,
    }),
  ],
};

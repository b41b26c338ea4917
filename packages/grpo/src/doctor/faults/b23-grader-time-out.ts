import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { judgeGrader, SETTLES, SHARE } from '../measures/canaries.js';
import { say } from '../sentence.js';

export const b23: Fault = {
  code: 'B23',
  name: 'grader time-out',
  title: 'The grader’s time-out, thread or signal fails',
  checks: [
    stepCheck({
      code: 'B23.canary',
      title: 'Known right answers are graded as right',
      stage: 'reward',
      level: 4,
      rank: 3,
      threshold: `through the production path, the answer earns less than its declared least ${SHARE}`,
      sources: ['verl-project/verl#5635', 'huggingface/trl#5281', 'huggingface/Math-Verify#55'],
      why: 'A time-out off the main thread makes every grade 0.',
      remedy:
        'Run the probe through the same worker by hand and read its error; look at time-outs, threads and types, and at what the grader remembers of other answers.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B20', 'B22', 'B25', 'B27', 'B28', 'B30'],
      settles: SETTLES,
      proofs: ['native'],
      needs: ['probes'],
      test: ({ probes }) =>
        judgeGrader(
          probes,
          ({ least, value }) => least !== undefined && value !== null,
          ({ value, least }) => value! >= least!,
        ),
      says: (m) => say`${m.wrong} of ${m.probes} known right answers were not graded as right.`,
    }),
  ],
};

import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { explanationOf } from '../measures/advantages.js';
import { asDeclared } from '../measures/group-advantages.js';
import { notApplicable, pass } from '../outcome.js';

export const b32: Fault = {
  code: 'B32',
  name: 'batch whitening',
  title: 'Advantages are whitened over the batch',
  checks: [
    stepCheck({
      code: 'B32.whitening',
      title: 'Advantages are scaled as declared, not whitened over the batch',
      stage: 'advantage',
      kind: 'identity',
      level: 5,
      rank: 1,
      threshold:
        'reported when the advantages are centred per group, then divided by the standard deviation of the batch; only informs if no scale is declared',
      sources: ['jingyaogong/minimind#563', 'yifan123/flow_grpo#46'],
      remedy: 'Scale the advantages once, as declared.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B33'],
      proofs: ['native'],
      needs: ['totals', 'advantages', 'promptOf', 'declared'],
      test(given, record) {
        const explanation = explanationOf(record);
        const { kind } = explanation;
        if (kind === 'lacking') return notApplicable(explanation.what);
        return kind === 'batch whitening' && given.declared.advantage?.scale !== 'batch'
          ? asDeclared(given.declared, { fits: kind })
          : pass({ fits: kind });
      },
      says: () =>
        'The advantages are centred per group, then divided by the standard deviation of the whole batch.',
    }),
  ],
};

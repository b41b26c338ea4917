import { logCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { explanationOf } from '../measures/advantages.js';
import { asDeclared } from '../measures/group-advantages.js';
import { loggedSpread } from '../measures/logged-advantages.js';
import { notApplicable, pass } from '../outcome.js';
import { percent, say } from '../sentence.js';

export const b32: Fault = {
  code: 'B32',
  name: 'batch whitening',
  title: 'Advantages are whitened over the batch',
  checks: [
    stepCheck({
      code: 'B32.whitening',
      title: 'Advantages are scaled as declared, not whitened over the batch',
      stage: 'advantage',
      level: 5,
      rank: 1,
      threshold:
        'reported when the advantages are centred per group, then divided by the standard deviation of the batch; only informs if no scale is declared',
      sources: ['jingyaogong/minimind#563', 'yifan123/flow_grpo#46'],
      remedy: 'Scale the advantages once, as declared.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B33', 'H04'],
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
    logCheck({
      code: 'B32.log',
      title: 'The deviation of the advantages is not 1 whatever share of the groups has equal rewards',
      stage: 'advantage',
      level: 5,
      rank: 5,
      threshold:
        'reported when the advantages have the deviation 1, within 0.005, in each of 8 entries or more with a tenth of groups of equal rewards; only informs if no scale is declared',
      sources: ['jingyaogong/minimind#563'],
      why: 'A group of equal rewards has advantages of 0, so that groups normalised one by one stay below 1 together.',
      remedy:
        'Nothing if the advantages are to be scaled over the batch; else divide by the deviation of each group.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'The advantages of one step, group by group: those of a group have the deviation 1 or 0.',
      needs: ['advantages/std', 'frac_reward_zero_std'],
      test(log) {
        const spread = loggedSpread(log);
        if (typeof spread === 'string') return notApplicable(spread);
        const { exceeds, isWhite, ...measured } = spread;
        return exceeds && isWhite && log.declared.advantage?.scale !== 'batch'
          ? asDeclared(log.declared, measured)
          : pass(measured);
      },
      says: (m) =>
        say`The advantages always have the deviation 1, although ${percent(m.flat)} of the groups have equal rewards: they are whitened over the batch.`,
    }),
  ],
};

import { withoutNaN } from '../../maths/moments.js';
import { logCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { type Evidence, fail, notApplicable, pass, warn } from '../outcome.js';
import { percent, say } from '../sentence.js';

/** A quantity that one log has under two names. */
const TWICE = [['frac_reward_zero_std', 'frac_reward_zero_std/counted_again']] as const;
const APART = 0.01;

export const b59: Fault = {
  code: 'B59',
  name: 'configuration',
  title: 'Configuration is ignored, or monitors contradict each other',
  left: 'pre-flight',
  checks: [
    logCheck({
      code: 'B59.metrics',
      title: 'Metrics of one quantity agree',
      stage: 'configuration',
      kind: 'identity',
      level: 6,
      rank: 11,
      threshold: 'min ≤ mean ≤ max length; all truncated ⇔ mean terminated length 0; within 1e-3',
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      remedy: 'Trust none of these metrics until the contradiction is explained.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      proofs: [],
      needs: ['completions/mean_length'],
      test(log) {
        const broken = log.series.entries.flatMap(({ step, values }): Evidence[] => {
          const v = (name: string) => values[`completions/${name}`];
          const [least, mean, most] = [v('min_length'), v('mean_length'), v('max_length')];
          const [cut, ended] = [v('clipped_ratio'), v('mean_terminated_length')];
          if (mean === undefined) return [];
          const lengths =
            (least !== undefined && least > mean + 1e-3) || (most !== undefined && most < mean - 1e-3);
          const ends = cut !== undefined && ended !== undefined && (cut === 1) !== (ended === 0);
          if (!lengths && !ends) return [];
          return [
            {
              step,
              text: lengths ? 'lengths' : 'clipped_ratio',
              values: { mean, ...(cut !== undefined && { cut }), ...(ended !== undefined && { ended }) },
            },
          ];
        });
        const measured = {
          entries: withoutNaN(log.column('completions/mean_length')).length,
          broken: broken.length,
        };
        return broken.length > 0 ? fail(measured, broken) : pass(measured);
      },
      says: (m) =>
        say`In ${m.broken} of ${m.entries} entries the metrics of completion lengths and truncation contradict each other.`,
    }),
    logCheck({
      code: 'B59.monitors',
      title: 'Two monitors of one quantity agree',
      stage: 'configuration',
      kind: 'heuristic',
      level: 6,
      rank: 12,
      threshold: `within ${APART} where both are shares of the same groups`,
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'Another run logged 16.7 % and 50 % of flat groups for one step: one monitor counted over completions.',
      remedy:
        'Count one step by hand: groups whose rewards are all equal, over groups. Trust neither monitor until then.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'The rewards of one step, group by group.',
      proofs: ['log only'],
      needs: [],
      test(log) {
        const pairs = TWICE.filter((names) => names.every((name) => log.has(name)));
        if (pairs.length === 0) return notApplicable('one quantity under two names');
        const both = pairs.flatMap(([name, again]) => {
          const [ones, others] = [log.column(name), log.column(again)];
          return log.steps.flatMap((step, i) =>
            Number.isNaN(ones[i]! + others[i]!)
              ? []
              : [{ step, name, again, one: ones[i]!, other: others[i]! }],
          );
        });
        if (both.length === 0) return notApplicable('both in one entry');
        const apart = both.filter(({ one, other }) => Math.abs(one - other) > APART);
        const [first] = apart;
        const measured = {
          entries: both.length,
          apart: apart.length,
          ...(first && { one: first.one, other: first.other }),
        };
        const evidence = apart.map(
          ({ step, name, again, one, other }): Evidence => ({
            step,
            values: { [name]: one, [again]: other },
          }),
        );
        return apart.length > 0 ? warn(measured, evidence) : pass(measured);
      },
      says: (m) =>
        `Two monitors of one step disagree: ${percent(m.one!)} and ${percent(m.other!)} of the groups have equal rewards. At least one of them is wrong.`,
    }),
  ],
};

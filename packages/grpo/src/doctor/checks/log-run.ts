/** Logs: loss, time, and the numbers’ own consistency. */
import { logCheck } from '../check.js';
import { type Evidence, fail, inform, notApplicable, pass, warn } from '../outcome.js';
import { known, median } from '../trend.js';

const consequence = { rerun: 'GRPO', checkpointsVoid: true } as const;
const harmless = { rerun: 'nothing', checkpointsVoid: false } as const;

export const runLogChecks = [
  logCheck({
    code: 'B59.metrics',
    title: 'Metrics that tell one thing agree',
    stage: 'configuration',
    kind: 'identity',
    level: 6,
    threshold: 'min ≤ mean ≤ max length; all cut off ⇔ mean terminated length 0; within 1e-3',
    source: 'identity; seed 002: two monitors at 16.7 % and 50 % in one step',
    remedy: 'Trust neither until one is explained.',
    consequence: harmless,
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
        entries: known(log.column('completions/mean_length')).length,
        broken: broken.length,
      };
      return broken.length > 0 ? fail(measured, broken) : pass(measured);
    },
  }),
  logCheck({
    code: 'B45.log',
    title: 'Loss and gradient are numbers',
    stage: 'loss',
    kind: 'identity',
    level: 6,
    threshold:
      'finite in every entry that has them; in float16 a gradient that overflows is skipped, and does not count',
    source: 'identity; trl#3248',
    remedy:
      'Look at the step before: an empty mask, a ratio that overflowed, an advantage that is no number.',
    consequence,
    induces: ['B52', 'B54'],
    needs: [],
    test(log) {
      const names = log.declared.dtype === 'float16' ? ['loss'] : ['loss', 'grad_norm'];
      if (log.series.entries.every(({ values }) => names.every((name) => values[name] === undefined)))
        return notApplicable('loss, or grad_norm');
      const broken = log.series.entries.flatMap(({ step, values }): Evidence[] =>
        names.flatMap((name) =>
          values[name] !== undefined && !Number.isFinite(values[name])
            ? [{ step, text: name, values: { value: values[name]! } }]
            : [],
        ),
      );
      const measured = { entries: log.series.entries.length, broken: broken.length };
      return broken.length > 0 ? fail(measured, broken) : pass(measured);
    },
  }),
  logCheck({
    code: 'B45.zero-log',
    title: 'A loss of 0 is no fault by itself',
    stage: 'loss',
    kind: 'heuristic',
    level: 6,
    threshold:
      'loss exactly 0: with a gradient it is normal at ratio 1; without one, in 3 entries or more, there is nothing to train on; where the log has no gradient it cannot be told',
    source: 'trl#2703, trl#3452, open-r1#239: misreadings of a loss of 0',
    remedy: 'Read grad_norm and reward in place of the loss.',
    consequence: harmless,
    settles: 'grad_norm: above 0 the run learns.',
    needs: ['loss'],
    test(log) {
      const loss = log.column('loss');
      const zero = [...loss.keys()].filter((i) => loss[i] === 0);
      const norms = log.column('grad_norm');
      const told = zero.filter((i) => !Number.isNaN(norms[i]!));
      const measured = { entries: known(loss).length, zero: zero.length };
      if (zero.length === 0) return pass(measured);
      const evidence = zero.map((i): Evidence => ({ step: log.steps[i]!, values: { loss: 0 } }));
      if (told.length === 0) return inform(measured, evidence);
      const gradient = told.some((i) => norms[i]! > 0);
      // A step without differences in reward has neither, in health too.
      if (zero.length < known(loss).length) return pass({ ...measured, gradient });
      if (gradient) return inform({ ...measured, gradient });
      return zero.length < 3 ? pass({ ...measured, gradient }) : warn({ ...measured, gradient });
    },
  }),
  logCheck({
    code: 'B60.slow',
    title: 'Steps take about equally long',
    stage: 'performance',
    kind: 'heuristic',
    level: 8,
    threshold: 'from the third step on, at most 3 × the median, in more than a tenth of 10 entries or more',
    source: 'seed 003: 21.7 s, then 103.6 s; torchtitan#2823: recompilation by new shapes',
    remedy: 'Look at the stage times of a slow step: compilation, garbage, a judge that waits.',
    consequence: harmless,
    settles: 'Stage times of a slow and a usual step.',
    needs: ['step_time'],
    test(log) {
      const times = known(log.column('step_time')).slice(2);
      if (times.length < 10) return notApplicable('12 entries');
      const usual = median(times);
      const slow = times.filter((time) => time > 3 * usual).length;
      const measured = { entries: times.length, median: usual, slow };
      return slow > times.length / 10 ? inform(measured) : pass(measured);
    },
  }),
];

/** Logs: whether completions end. */
import { logCheck } from '../check.js';
import { at } from '../log-view.js';
import { inform, notApplicable, pass, warn } from '../outcome.js';
import { ends, known, longestRun, mannKendall } from '../trend.js';

const consequence = { rerun: 'GRPO', checkpointsVoid: true } as const;
const harmless = { rerun: 'nothing', checkpointsVoid: false } as const;

export const endLogChecks = [
  logCheck({
    code: 'B16.log',
    title: 'Completions end by themselves',
    stage: 'generation',
    kind: 'heuristic',
    level: 8,
    threshold:
      'not 95 % or more cut off in 3 entries in a row, from the first tenth of the run on; only informs where it is below a half in the end, or begins later: then B08.log tells whether it grew',
    source: 'seed 000 (1.0 throughout), trl#5697: a limit of 256 tokens cut 97 %',
    remedy:
      'Look at the last tokens of a completion: an end token that the sampler does not know, or an answer that needs more room.',
    consequence: harmless,
    induces: ['B26', 'B58'],
    settles: 'The set of end tokens that the engine used beside the template’s end of turn.',
    needs: ['completions/clipped_ratio'],
    test(log) {
      const cut = log.column('completions/clipped_ratio');
      const { start, length } = longestRun(cut, (share) => share >= 0.95);
      const fromStart = start <= cut.length / 10;
      const recovered = ends(cut).last < 0.5;
      const measured = { entries: known(cut).length, inARow: length, fromStart, recovered };
      if (length < 3) return pass(measured);
      const evidence = [at(log, start, 'completions/clipped_ratio', cut[start]!)];
      return fromStart && !recovered ? warn(measured, evidence) : inform(measured, evidence);
    },
  }),
  logCheck({
    code: 'B08.log',
    title: 'Completions do not unlearn to end',
    stage: 'generation',
    kind: 'heuristic',
    level: 8,
    threshold: 'share cut off not rising over 20 entries or more (Mann–Kendall z > 3) by more than 0.2',
    source: 'unsloth-zoo#832; a public run went from 0.5 to 1.0 in 200 steps',
    remedy: 'Check that the end token is inside the loss mask; then whether the reward prefers length.',
    consequence,
    settles:
      'The mask at the end token in a step’s record, and the probability of the end token where completions ended.',
    needs: ['completions/clipped_ratio'],
    test(log) {
      const cut = known(log.column('completions/clipped_ratio'));
      if (cut.length < 20) return notApplicable('20 entries');
      const { z } = mannKendall(cut);
      const { first, last } = ends(cut);
      const rise = last - first;
      const measured = { entries: cut.length, z, rise };
      return z > 3 && rise > 0.2 ? warn(measured) : pass(measured);
    },
  }),
];

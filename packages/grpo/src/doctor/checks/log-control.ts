/** Logs: whether the loss is what its parts say, and a resumed run goes on. */
import { logCheck } from '../check.js';
import { at, type LogView } from '../log-view.js';
import { notApplicable, pass, warn } from '../outcome.js';
import { formOf } from '../recompute/form.js';
import { known } from '../trend.js';

const harmless = { rerun: 'nothing', checkpointsVoid: false } as const;

export const controlLogChecks = [
  logCheck({
    code: 'B43.loss-log',
    title: 'At ratio 1 the loss is β × KL',
    stage: 'loss',
    kind: 'heuristic',
    level: 6,
    threshold:
      'within half of it, and 1e-3, in half of 5 entries or more, for a clipped loss in which each completion counts the same (grpo, gspo) with one update a rollout: advantages sum to 0 in a group; β as logged, else as declared; the KL of the log counts tokens',
    source: 'identity up to lengths; trl#2703. Seeds 002 and 003 logged another loss than they optimised',
    remedy:
      'Log the loss that is optimised: the mean over micro-batches, with the signs with which its parts enter.',
    consequence: harmless,
    settles: 'The record of a step: its parts, and their sum.',
    needs: ['loss', 'kl'],
    test(log) {
      const { beta, klPlace } = log.declared;
      if (beta === undefined || !isKlAlone(log))
        return notApplicable('a loss that is β × KL at ratio 1, with a β, all declared');
      const judged = log.series.entries.flatMap(({ step, values }) => {
        const weight = klPlace === 'reward' ? 0 : (values.beta ?? beta);
        return Number.isFinite(values.loss! * values.kl!)
          ? [{ step, value: values.loss!, expected: weight * values.kl! }]
          : [];
      });
      if (judged.length < 5) return notApplicable('5 entries');
      const off = judged.filter(
        ({ value, expected }) => Math.abs(value - expected) > 1e-3 + 0.5 * Math.abs(expected),
      );
      const measured = { entries: judged.length, off: off.length };
      const evidence = off.map(({ step, ...values }) => ({ step, text: 'loss', values }));
      return off.length > judged.length / 2 ? warn(measured, evidence) : pass(measured);
    },
  }),
  logCheck({
    code: 'B57.log',
    title: 'A resumed run goes on where it stopped',
    stage: 'checkpoint',
    kind: 'heuristic',
    level: 8,
    threshold: 'num_tokens never falls from entry to entry',
    source: 'trl#3148, OpenRLHF#1069; proposal',
    remedy:
      'Compare prompts, learning rate and loss of the first step after the seam with those of a run without a stop.',
    consequence: harmless,
    settles: 'N steps, a resumed N, and 2 N in one go: prompts and losses must be equal.',
    needs: ['num_tokens'],
    test(log) {
      const tokens = log.column('num_tokens');
      const seams = [...tokens.keys()].filter((i) => i > 0 && tokens[i]! < tokens[i - 1]!);
      const measured = { entries: known(tokens).length, seams: seams.length };
      const evidence = seams.map((i) => at(log, i, 'num_tokens', tokens[i]!));
      return seams.length > 0 ? warn(measured, evidence) : pass(measured);
    },
  }),
];

/** Whether the policy's part of the loss is 0 at ratio 1, and the KL's is all that is left. */
function isKlAlone(log: LogView): boolean {
  const { declared } = log;
  const form = formOf(declared);
  const { updatesPerRollout, maskTruncated, entropyCoefficient = 0, topEntropy = 1 } = declared;
  const isZeroSum =
    declared.baseline !== 'none' && declared.flat !== 'raw' && declared.advantageClip === undefined;
  const isWhole =
    !maskTruncated && topEntropy === 1 && !declared.correction && declared.offPolicyThreshold === undefined;
  return (
    typeof form === 'object' &&
    form.policy === 'clip' &&
    form.aggregation === 'sequence_mean' &&
    updatesPerRollout === 1 &&
    isZeroSum &&
    isWhole &&
    entropyCoefficient === 0 &&
    // A β of each kind, an entropy bonus that comes and goes, groups of an earlier policy.
    log.names(/^(beta\/|entropy_coef$|groups_replayed$)/).length === 0
  );
}

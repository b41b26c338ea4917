/** Logs: KL, ratios, entropy, and the log-probs behind them. */
import { logCheck } from '../check.js';
import { type Evidence, fail, inform, notApplicable, pass, warn } from '../outcome.js';
import { known, longestRun, mannKendall, median } from '../trend.js';

const consequence = { rerun: 'GRPO', checkpointsVoid: true } as const;
const harmless = { rerun: 'nothing', checkpointsVoid: false } as const;

export const policyLogChecks = [
  logCheck({
    code: 'B51.log',
    title: 'The KL begins at 0',
    stage: 'kl',
    kind: 'identity',
    level: 3,
    threshold: 'KL of step 1 at most 0.01 nat a token in absolute value; entries of one step only',
    source:
      'identity: the reference is the policy; seed 002 began with 1.007 and 0.46, seed 001 with −4 to −6',
    remedy:
      'Either the reference is another model than the one that is trained, or policy and reference are scored differently (dropout, mask, temperature).',
    consequence,
    induces: ['B49', 'B50', 'B39', 'B38'],
    needs: ['kl'],
    test(log) {
      const [first] = log.series.entries;
      if (log.series.stepsPerEntry !== 1 || first!.step > 1 || first!.values.kl === undefined) {
        return notApplicable('the KL of step 1 in an entry of its own');
      }
      const measured = { kl: first!.values.kl };
      return Math.abs(measured.kl) <= 0.01
        ? pass(measured)
        : fail(measured, [{ step: first!.step, text: 'kl', values: { value: measured.kl } }]);
    },
  }),
  logCheck({
    code: 'B49.log',
    title: 'An estimate of the KL by k3 is not negative',
    stage: 'kl',
    kind: 'identity',
    level: 6,
    threshold: 'kl ≥ −1e-6 in every entry, where the estimate is k3',
    source: 'identity: e^−d + d − 1 ≥ 0',
    remedy: 'Look at sign and mask; k1 may be negative, k3 cannot.',
    consequence,
    needs: ['kl'],
    test(log) {
      if (log.declared.kl !== 'k3') return notApplicable('a declared estimate k3');
      const column = log.column('kl');
      const negative = [...column.keys()].filter((i) => column[i]! < -1e-6);
      const measured = { entries: known(column).length, negative: negative.length };
      const evidence = negative.map(
        (i): Evidence => ({ step: log.steps[i]!, text: 'kl', values: { value: column[i]! } }),
      );
      return negative.length > 0 ? fail(measured, evidence) : pass(measured);
    },
  }),
  logCheck({
    code: 'B38.log',
    title: 'Policy and reference are scored alike',
    stage: 'logprob',
    kind: 'heuristic',
    level: 3,
    threshold:
      'not: |KL| above 1 nat a token from the first entry on, with less than 10 % between first and last of 5 entries or more; not: a mean of k1 below −0.1',
    source: 'seed 001: a KL of −4 to −6, constant over 1000 steps: the policy was scored with dropout',
    remedy:
      'Put the policy into evaluation mode for scoring; then compare masks and positions of the two passes.',
    consequence,
    induces: ['B39', 'B48', 'B49', 'B50', 'B51', 'B42'],
    settles:
      'The policy scored twice: different numbers are dropout; equal ones, another model or another mask.',
    needs: ['kl'],
    test(log) {
      const kl = known(log.column('kl'));
      const [first, last] = [kl[0]!, kl.at(-1)!];
      const constant =
        kl.length >= 5 && Math.abs(first) > 1 && Math.abs(last - first) < 0.1 * Math.abs(first);
      // k3 cannot be negative, so a negative mean is one of k1; no average of it may be far below 0.
      const negative = median(kl) < -0.1;
      const measured = { entries: kl.length, first, last, median: median(kl) };
      return constant || negative
        ? warn(measured, [{ step: log.steps[0]!, text: 'kl', values: { value: first } }])
        : pass(measured);
    },
  }),
  logCheck({
    code: 'B49.explosion',
    title: 'The KL does not explode',
    stage: 'kl',
    kind: 'heuristic',
    level: 6,
    threshold: 'no entry above 10 nats a token, and none above 100 × the median of a KL above 0.01',
    source: 'verl#2953, open-r1#257; seed 001: single tokens of 80,000',
    remedy: 'A smaller learning rate or a larger β; look at the tokens with the largest ratio.',
    consequence: harmless,
    induces: ['B54'],
    settles: 'The record of that step: which tokens hold the KL.',
    needs: ['kl'],
    test(log) {
      const column = log.column('kl');
      const middle = median(column);
      const wild = [...column.keys()].filter(
        (i) => column[i]! > 10 || (middle > 0.01 && column[i]! > 100 * middle),
      );
      const measured = { entries: known(column).length, median: middle, wild: wild.length };
      const evidence = wild.map(
        (i): Evidence => ({ step: log.steps[i]!, text: 'kl', values: { value: column[i]! } }),
      );
      return wild.length > 0 ? warn(measured, evidence) : pass(measured);
    },
  }),
  logCheck({
    code: 'B40.log',
    title: 'Clipping acts where rollouts are reused',
    stage: 'logprob',
    kind: 'heuristic',
    level: 6,
    threshold: 'not exactly 0 in all of 20 entries or more when several updates are made from a rollout',
    source: 'trl#3120, trl#3757; at one update a rollout 0 is normal',
    remedy: 'Compute the old log-probs once, before the first update.',
    consequence,
    settles: 'Ratios of a second update: all exactly 1 prove it.',
    needs: ['clip_ratio/region_mean'],
    test(log) {
      const updates = log.declared.updatesPerRollout;
      if (updates === undefined || updates <= 1)
        return notApplicable('several updates from one rollout, declared');
      const clipped = known(log.column('clip_ratio/region_mean'));
      if (clipped.length < 20) return notApplicable('20 entries');
      const measured = { entries: clipped.length, updates };
      return clipped.every((share) => share === 0) ? warn(measured) : pass(measured);
    },
  }),
  logCheck({
    code: 'B39.log',
    title: 'Sampler and trainer agree, and go on doing so',
    stage: 'logprob',
    kind: 'heuristic',
    level: 3,
    threshold:
      'mean gap at most 0.1 nat a token in the median, and not rising from start to end (Mann–Kendall z > 3 with a doubling)',
    source: 'verl and AReaL report 0.01 to 0.1 between two engines; trl#3867',
    remedy: 'Check ids, temperature and mode first; a growing gap is weights that do not arrive.',
    consequence: harmless,
    induces: ['B40', 'B54'],
    settles: 'A checksum of the weights on both sides after a step.',
    needs: ['sampling/sampling_logp_difference/mean'],
    test(log) {
      const gaps = known(log.column('sampling/sampling_logp_difference/mean'));
      const middle = median(gaps);
      const { z } = mannKendall(gaps);
      const tenth = Math.max(1, Math.floor(gaps.length / 10));
      const growth = median(gaps.slice(-tenth)) / median(gaps.slice(0, tenth));
      const measured = { entries: gaps.length, median: middle, z, growth };
      const rising = gaps.length >= 20 && z > 3 && growth > 2 && middle > 0.01;
      return middle > 0.1 || rising ? warn({ ...measured, rising }) : pass(measured);
    },
  }),
  logCheck({
    code: 'B42.log',
    title: 'A larger entropy bonus does not lower the entropy',
    stage: 'loss',
    kind: 'heuristic',
    level: 6,
    threshold: 'not three rises of the coefficient in a row with lower entropy after each',
    source: 'seed 002: the coefficient went from 0.2 to 6 while the policy collapsed',
    remedy: 'Check the sign: loss = … − coefficient × entropy.',
    consequence,
    settles: 'A tiny step with advantages 0 and β 0: the entropy must rise.',
    needs: ['entropy', 'entropy_coef'],
    test(log) {
      const [entropy, coefficient] = [log.column('entropy'), log.column('entropy_coef')];
      const raised = [...coefficient.keys()].filter((i) => i > 0 && coefficient[i]! > coefficient[i - 1]!);
      if (raised.length < 3) return notApplicable('three rises of the coefficient');
      const falls = raised.map((i, n) => entropy[(raised[n + 1] ?? entropy.length) - 1]! < entropy[i - 1]!);
      const { length } = longestRun(falls.map(Number), (value) => value === 1);
      const measured = { rises: raised.length, inARow: length };
      return length >= 3 ? warn(measured) : pass(measured);
    },
  }),
  logCheck({
    code: 'B54.entropy',
    title: 'The entropy does not collapse',
    stage: 'loss',
    kind: 'heuristic',
    level: 8,
    threshold:
      'the last tenth of the entries above 2 % of the first tenth; what is low depends on task and phase, so it only informs',
    source: 'systems disagree: below 0.5 is collapse for one, 0.05 to 0.5 healthy for another',
    remedy: 'If the reward stands still as well: a larger temperature or clipHigh, or an entropy bonus.',
    consequence: harmless,
    settles: 'The reward: low entropy with a high reward is a task that is learnt.',
    needs: ['entropy'],
    test(log) {
      const entropy = known(log.column('entropy'));
      if (entropy.length < 10) return notApplicable('10 entries');
      const tenth = Math.max(1, Math.floor(entropy.length / 10));
      const [first, last] = [median(entropy.slice(0, tenth)), median(entropy.slice(-tenth))];
      const measured = { entries: entropy.length, first, last };
      return last < 0.02 * first ? inform(measured) : pass(measured);
    },
  }),
];

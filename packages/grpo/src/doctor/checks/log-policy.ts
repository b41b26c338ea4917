/** Logs: KL, ratios, entropy, and the log-probs behind them. */
import { logCheck } from '../check.js';
import { type Evidence, fail, inform, notApplicable, pass, warn } from '../outcome.js';
import { isNonnegative } from '../recompute/kl.js';
import { isFull } from '../tolerance.js';
import { ends, known, longestRun, mannKendall, median } from '../trend.js';

const consequence = { rerun: 'GRPO', checkpointsVoid: true } as const;
const harmless = { rerun: 'nothing', checkpointsVoid: false } as const;

export const policyLogChecks = [
  logCheck({
    code: 'B49.log',
    title: 'An estimate of the KL that cannot be negative is not',
    stage: 'kl',
    kind: 'identity',
    level: 6,
    threshold:
      'kl ≥ −1e-6 in every entry, where the estimate is k2, k3, abs or full; ≥ −1e-3 unless the run is in float32',
    source: 'identity: d² / 2, e^−d + d − 1 and |d| ≥ 0',
    remedy: 'Look at sign and mask; k1 may be negative, the others cannot.',
    consequence,
    needs: ['kl'],
    test(log) {
      if (!isNonnegative(log.declared.kl)) return notApplicable('a declared estimate k2, k3, abs or full');
      const column = log.column('kl');
      const least = isFull(log) ? -1e-6 : -1e-3;
      const negative = [...column.keys()].filter((i) => column[i]! < least);
      const measured = { entries: known(column).length, negative: negative.length };
      const evidence = negative.map(
        (i): Evidence => ({ step: log.steps[i]!, text: 'kl', values: { value: column[i]! } }),
      );
      return negative.length > 0 ? fail(measured, evidence) : pass(measured);
    },
  }),
  logCheck({
    code: 'B49.explosion',
    title: 'The KL does not explode',
    stage: 'kl',
    kind: 'heuristic',
    level: 6,
    threshold:
      'no entry above 10 nats a token, and none above 100 × the median of a KL above 0.01 to a reference that stays; not of sums over completions',
    source: 'verl#2953, open-r1#257; seed 001: single tokens of 80,000',
    remedy: 'A smaller learning rate or a larger β; look at the tokens with the largest ratio.',
    consequence: harmless,
    induces: ['B54'],
    settles: 'The record of that step: which tokens hold the KL.',
    needs: ['kl'],
    test(log) {
      const { klLevel, referenceEvery = 0 } = log.declared;
      if (klLevel === 'sequence_sum') return notApplicable('a KL a token');
      const column = log.column('kl');
      const middle = median(column);
      const wild = [...column.keys()].filter(
        // A reference that follows begins at 0 again and again: that says nothing of what is usual.
        (i) => column[i]! > 10 || (referenceEvery === 0 && middle > 0.01 && column[i]! > 100 * middle),
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
    threshold:
      'not exactly 0 in all of 100 entries when several updates are made from a rollout; in 20 it informs, since small steps seldom reach the clip',
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
      if (clipped.some((share) => share !== 0)) return pass(measured);
      return clipped.length < 100 ? inform(measured) : warn(measured);
    },
  }),
  logCheck({
    code: 'B55.log',
    title: 'Sampler and trainer do not drift apart',
    stage: 'weight sync',
    kind: 'heuristic',
    level: 3,
    threshold:
      'the gap does not rise over 20 entries or more (Mann–Kendall z > 3) to the double, above 0.01 nat a token',
    source: 'verl#7495, trl#6007: weights, adapter or cache that do not arrive; proposal',
    remedy: 'Compare a checksum of weights on both sides after an update, and empty the prefix cache.',
    consequence,
    induces: ['B39', 'B40', 'B54'],
    settles:
      'Both log-probs of a completion of step 1 and of a late one: a gap from the start on is not of the weights.',
    needs: ['sampling/sampling_logp_difference/mean'],
    test(log) {
      const gaps = log.column('sampling/sampling_logp_difference/mean');
      if (known(gaps).length < 20) return notApplicable('20 entries');
      const { z, count } = mannKendall(gaps);
      const { first, last } = ends(gaps);
      const measured = { entries: count, z, first, last };
      return z > 3 && last > 2 * first && last > 0.01 ? warn(measured) : pass(measured);
    },
  }),
  logCheck({
    code: 'B39.log',
    title: 'Sampler and trainer give a token the same log-prob',
    stage: 'logprob',
    kind: 'heuristic',
    level: 3,
    threshold: 'mean gap at most 0.1 nat a token in the median',
    source: 'verl and AReaL report 0.01 to 0.1 between two engines; trl#3867',
    remedy:
      'Check ids, temperature and mode first; then same precision and kernels on both sides, or importance sampling.',
    consequence: harmless,
    induces: ['B54'],
    settles: 'The record of one step: the ids, the temperature, and both log-probs of each token.',
    needs: ['sampling/sampling_logp_difference/mean'],
    test(log) {
      const gaps = known(log.column('sampling/sampling_logp_difference/mean'));
      const measured = { entries: gaps.length, median: median(gaps) };
      return measured.median > 0.1 ? warn(measured) : pass(measured);
    },
  }),
  logCheck({
    code: 'B42.log',
    title: 'A larger entropy bonus does not lower the entropy',
    stage: 'loss',
    kind: 'heuristic',
    level: 6,
    threshold:
      'not: the coefficient raised three times in a row or more, fivefold in all, and the entropy lower after each rise and halved in the end; a controller that raises it in small steps may lag behind',
    source: 'seed 002: the coefficient went from 0.2 to 6 while the policy collapsed',
    remedy: 'Check the sign of the gradient, not of the logged value: loss = … − coefficient × entropy.',
    consequence,
    induces: ['B17', 'B30', 'B54'],
    settles: 'A tiny step with advantages 0 and β 0: the entropy must rise.',
    needs: ['entropy', 'entropy_coef'],
    test(log) {
      const [entropy, coefficient] = [log.column('entropy'), log.column('entropy_coef')];
      const raised = [...coefficient.keys()].filter((i) => i > 0 && coefficient[i]! > coefficient[i - 1]!);
      if (raised.length < 3) return notApplicable('three rises of the coefficient');
      const afterRise = (n: number) => entropy[(raised[n + 1] ?? entropy.length) - 1]!;
      const falls = raised.map((i, n) => Number(afterRise(n) < entropy[i - 1]!));
      const { start, length } = longestRun(falls, (fell) => fell === 1);
      const [first, last] = [raised[start]!, raised[start + length - 1]!];
      const measured = {
        rises: raised.length,
        inARow: length,
        ...(length > 0 && {
          from: coefficient[first - 1]!,
          to: coefficient[last]!,
          before: entropy[first - 1]!,
          after: afterRise(start + length - 1),
        }),
      };
      if (length < 3) return pass(measured);
      const { from = 0, to = 0, before = 0, after = 0 } = measured;
      return to >= 5 * from && after <= before / 2
        ? warn(measured, [{ step: log.steps[last]!, values: { entropy_coef: to, entropy: after } }])
        : pass(measured);
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
      const { first, last } = ends(entropy);
      const measured = { entries: entropy.length, first, last };
      return last < 0.02 * first ? inform(measured) : pass(measured);
    },
  }),
];

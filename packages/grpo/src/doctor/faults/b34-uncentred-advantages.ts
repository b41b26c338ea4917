import { largest, sum, withoutNaN } from '../../maths/moments.js';
import { median } from '../../maths/quantile.js';
import { logCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { groupsOf } from '../groups.js';
import { fromTheStart } from '../log-view.js';
import { explanationOf, roundingOf } from '../measures/advantages.js';
import { asDeclared, BASELINE, isCentred, isEqual, isWhole, WHOLE } from '../measures/group-advantages.js';
import { type Evidence, fail, inform, notApplicable, type Outcome, pass, warn } from '../outcome.js';
import { say } from '../sentence.js';

/** Deviations by which the mean of the advantages of a batch may miss 0, and by which it is told. */
const [OFF_CENTRE, A_LITTLE_OFF] = [0.5, 0.2];

/** Least number of entries whose advantages are the rewards to four digits. */
const SEEN_RAW = 3;

export const b34: Fault = {
  code: 'B34',
  name: 'uncentred advantages',
  title: 'Advantages are not centred',
  checks: [
    stepCheck({
      code: 'B34.raw',
      title: 'No group is trained on its raw rewards',
      stage: 'advantage',
      level: 5,
      rank: 1,
      threshold:
        'reported when the advantages of a group equal its rewards; only informs if no scale is declared and this holds for all groups',
      sources: ['arXiv:2402.03300'],
      why: 'A baseline makes the advantages of a group sum to 0; raw rewards push all completions one way.',
      remedy: 'Give a group of equal rewards the advantage 0.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B33', 'H04'],
      proofs: ['native'],
      needs: ['totals', 'advantages', 'promptOf', 'declared'],
      test(given, record) {
        const { advantages, declared } = given;
        const explanation = explanationOf(record);
        if (explanation.kind === 'lacking') return notApplicable(explanation.what);
        if (explanation.kind !== 'raw rewards') return pass({ fits: explanation.kind });
        const { kind, completions } = explanation;
        const evidence = completions.map(
          (completion): Evidence => ({ completion, values: { advantage: advantages[completion]! } }),
        );
        const measured = { fits: kind, completions: completions.length };
        // Without any baseline it is another method.
        return completions.length === advantages.length
          ? asDeclared(declared, measured, evidence)
          : fail(measured, evidence);
      },
      says: (m) =>
        say`${m.completions} completions have their raw reward as advantage: the whole group has one sign.`,
    }),
    stepCheck({
      code: 'B34.sum',
      title: 'The advantages of a group sum to 0',
      stage: 'advantage',
      level: 5,
      rank: 1,
      threshold:
        '|Σ A| ≤ 1e-3 × group size × the largest |A|, plus float32 rounding; not applicable without a baseline, to clipped advantages, or if flat groups keep their rewards; only informs if no scale is declared',
      sources: ['arXiv:2402.03300'],
      why: 'Deviations from the group’s mean sum to 0.',
      remedy: 'Subtract the mean over the completions that have a reward, and over no others.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B33', 'H04'],
      proofs: ['native'],
      needs: ['advantages', 'promptOf', 'declared'],
      test(given, record) {
        const { advantages, promptOf, declared } = given;
        const { rewards } = record;
        const isClipped = rewards?.totals && explanationOf(record).kind === 'clipped';
        if (declared.advantage?.clip !== undefined || isClipped)
          return notApplicable('advantages that are not clipped');
        if (!isCentred(declared)) return notApplicable(BASELINE);
        if (!isWhole(given)) return notApplicable(WHOLE);
        const groups = groupsOf(promptOf);
        const off = groups.flatMap((group): Evidence[] => {
          const total = sum(group.map((b) => advantages[b]!));
          const scored = group.map((b) => rewards?.totals?.[b] ?? 0);
          // Rounding in a group of equal rewards is judged by B33.leak.
          if (rewards?.totals && isEqual(scored)) return [];
          const bound =
            1e-3 * Math.max(1, largest(group.map((b) => Math.abs(advantages[b]!)))) +
            roundingOf(scored, declared.advantage);
          return Math.abs(total) <= group.length * bound
            ? []
            : [{ prompt: promptOf[group[0]!]!, values: { sum: total } }];
        });
        const measured = { groups: groups.length, off: off.length };
        return off.length > 0 ? asDeclared(declared, measured, off) : pass(measured);
      },
      says: (m) => say`The advantages of ${m.off} of ${m.groups} groups do not sum to 0.`,
    }),
    logCheck({
      code: 'B34.log',
      title: 'The advantages of a batch lie around 0',
      stage: 'advantage',
      level: 5,
      rank: 3,
      threshold: `in ${SEEN_RAW} entries or more, the least and the largest advantage are not the least and the largest reward in all (it informs: such runs may learn); over 8 entries or more, the mean of the advantages is another number than the reward, and within ${OFF_CENTRE} of their deviations of 0 in the median; above ${A_LITTLE_OFF} it informs`,
      sources: ['arXiv:2402.03300'],
      why: 'Deviations from the mean of each group sum to 0; a mean over tokens misses it a little, where longer answers are better or worse.',
      remedy: 'Subtract the mean over the completions of one prompt.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      settles: 'Rewards and advantages of one step, group by group.',
      proofs: ['log only'],
      needs: [],
      test(log): Outcome<{ entries: number; mean?: number; off?: number }> {
        const raws = withoutNaN(log.column('advantages/raw'));
        if (raws.length >= SEEN_RAW && raws.every((isRaw) => isRaw === 1))
          return inform({ entries: raws.length }, fromTheStart(log, 'reward'));
        const [means, deviations, rewards, spread] = [
          'advantages/mean',
          'advantages/std',
          'reward',
          'reward_std',
        ].map((name) => log.column(name)) as [Float64Array, Float64Array, Float64Array, Float64Array];
        const judged = [...means.keys()].filter(
          (i) => Math.abs(rewards[i]!) > 1e-3 && !Number.isNaN(means[i]!),
        );
        if (judged.length < 8) return notApplicable('8 entries with a reward other than 0');
        const raw = judged.filter((i) => Math.abs(means[i]! / rewards[i]! - 1) < 0.02).length;
        const measured = { entries: judged.length, mean: median(judged.map((i) => means[i]!)) };
        const evidence = fromTheStart(log, 'advantages/mean');
        if (raw > 0.9 * judged.length) return warn(measured, evidence);
        // Without their deviation: advantages have one of at most 1, or that of the rewards.
        const scaled = judged.map((i) => means[i]! / (deviations[i]! || Math.max(1, spread[i]! || 0)));
        const off = Math.abs(median(scaled));
        if (off <= A_LITTLE_OFF) return pass({ ...measured, off });
        return off > OFF_CENTRE
          ? warn({ ...measured, off }, evidence)
          : inform({ ...measured, off }, evidence);
      },
      says: (m) =>
        m.off !== undefined
          ? say`The advantages have a mean of ${m.mean}, ${m.off} of their deviations away from 0: they are not centred in each group.`
          : say`${m.mean === undefined ? 'Least and largest advantage are least and largest reward' : 'The mean of the advantages is the mean of the rewards'} in ${m.entries} entries: nothing is subtracted from the rewards, as where each prompt has one completion. That is REINFORCE without a baseline.`,
    }),
  ],
};

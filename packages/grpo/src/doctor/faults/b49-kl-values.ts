import { largest, sum, withoutNaN } from '../../maths/moments.js';
import { median } from '../../maths/quantile.js';
import { logCheck, stepCheck } from '../check.js';
import { MIN_ENTRIES } from '../course/run-course.js';
import type { Fault } from '../fault.js';
import { updateRows } from '../inputs.js';
import { isOfFirstEntry, klOfStepOne, type LogView } from '../log-view.js';
import { firstMasks, placeOf } from '../measures/first-update.js';
import { type Evidence, fail, inform, notApplicable, type Outcome, pass, warn } from '../outcome.js';
import { isNonnegative } from '../recompute/kl.js';
import { percent, say } from '../sentence.js';
import { isFull } from '../tolerance.js';

/** KL per token at which a token is e times as likely as under the reference. */
const NATS = 1;
/** Growth by which a KL that was large from the start has grown. */
const DOUBLE = 2;
/** No policy that speaks is that far away. */
const ABSURD = 10;

/** How often, since when and how far the KL was too large, with the reward and the learning rate beside it. */
type Excess = Record<'entries' | 'median' | 'most' | 'far' | 'step', number> & {
  paid: boolean;
  /** Whether it was as large from the first entry on. */
  before: boolean;
  rate?: number;
  start?: number;
  end?: number;
};

export const b49: Fault = {
  code: 'B49',
  name: 'KL values',
  title: 'The KL explodes, or has impossible values',
  checks: [
    stepCheck({
      code: 'B49.nonnegative',
      title: 'A KL estimate that cannot be negative is never negative',
      stage: 'kl',
      level: 6,
      rank: 7,
      threshold:
        'every token with mask 1 ≥ −1e-6 with k2, k3 and abs, ≥ −1e-5 with the full KL, which rounds as its logits do, and ≥ −0.02 in half precision; of a full KL that is summed over a completion so much times its tokens; and finite',
      sources: ['arXiv:2402.03300'],
      why: 'd² / 2, e^−d + d − 1 and |d| ≥ 0.',
      remedy: 'Check sign and mask: padding has no KL.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      proofs: ['native'],
      needs: ['firstUpdate', 'declared'],
      test({ firstUpdate, declared: { kl } }, record) {
        if (!isNonnegative(kl?.estimator)) return notApplicable('a declared estimate k2, k3, abs or full');
        const terms = updateRows(record, firstUpdate, 'klTerms');
        if (!terms) return notApplicable('updates.klTerms');
        const masks = firstMasks(record);
        const isWhole = kl?.estimator === 'full';
        // Its normalizers round to steps of the largest logits: 4e-6 between 32 and 64.
        const ofToken = !isFull(record) ? -0.02 : isWhole ? -1e-5 : -1e-6;
        const wrong = terms.flatMap((row, at): Evidence[] => {
          const mask = masks?.[at];
          const least = ofToken * (isWhole && kl?.level === 'sequence_sum' ? row.length : 1);
          for (let token = 0; token < row.length; token++) {
            const kl = row[token]!;
            if (mask?.[token] !== 0 && !(kl >= least && kl < Number.POSITIVE_INFINITY))
              return [{ ...placeOf(record, { row: at, token }), values: { kl } }];
          }
          return [];
        });
        const measured = { completions: terms.length, wrong: wrong.length };
        return wrong.length > 0 ? fail(measured, wrong) : pass(measured);
      },
      says: (m) =>
        say`${m.wrong} of ${m.completions} completions have a token with a KL that the declared estimate cannot have: negative, NaN or infinite.`,
    }),
    stepCheck({
      code: 'B49.share',
      title: 'No handful of tokens makes up the KL',
      stage: 'kl',
      level: 6,
      rank: 7,
      threshold: 'the top 1 % of 200 tokens or more hold at most half of a KL above 0.01 nat per token',
      sources: ['verl-project/verl#2953', 'THUDM/slime#1004'],
      remedy:
        'Check whether these tokens are masked wrongly or have truly drifted; a bounded estimate limits them.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'The tokens themselves, and whether they belong to the completion.',
      needs: ['firstUpdate'],
      test({ firstUpdate }, record) {
        const { estimator, level = 'token' } = record.declared?.kl ?? {};
        if (estimator === 'k1' || level !== 'token')
          return notApplicable('a KL of each token that is not negative');
        const masks = firstMasks(record);
        const terms = updateRows(record, firstUpdate, 'klTerms') ?? [];
        const all = new Float64Array(sum(terms.map((row) => row.length)));
        let count = 0;
        for (const [at, row] of terms.entries()) {
          const mask = masks?.[at];
          for (let t = 0; t < row.length; t++) if (mask?.[t] !== 0) all[count++] = row[t]!;
        }
        if (count < 200) return notApplicable('updates.klTerms of 200 tokens');
        const sorted = all.subarray(0, count).sort().reverse();
        const total = sum(sorted);
        const top = sum(sorted.subarray(0, Math.ceil(sorted.length / 100)));
        const measured = {
          tokens: sorted.length,
          mean: total / sorted.length,
          topShare: total > 0 ? top / total : 0,
          largest: sorted[0]!,
        };
        if (measured.mean < 0.01) return pass(measured);
        return measured.topShare > 0.5 ? inform(measured) : pass(measured);
      },
      says: (m) =>
        say`The top 1 % of the tokens make up ${percent(m.topShare)} of the KL (largest ${m.largest} nats).`,
    }),
    logCheck({
      code: 'B49.log',
      title: 'A KL estimate that cannot be negative is never negative',
      stage: 'kl',
      level: 6,
      rank: 9,
      threshold:
        'kl ≥ −1e-6 in every entry, where the estimate is k2, k3, abs or full; ≥ −1e-3 unless the run is in float32',
      sources: ['arXiv:2402.03300'],
      why: 'd² / 2, e^−d + d − 1 and |d| ≥ 0.',
      remedy: 'Check sign and mask; k1 may be negative, the others cannot.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      proofs: ['native'],
      needs: ['kl'],
      test(log) {
        if (!isNonnegative(log.declared.kl?.estimator))
          return notApplicable('a declared estimate k2, k3, abs or full');
        const column = log.column('kl');
        const least = leastOf(log);
        const negative = [...column.keys()].filter((i) => column[i]! < least);
        const measured = { entries: withoutNaN(column).length, negative: negative.length };
        const evidence = negative.map(
          (i): Evidence => ({ step: log.steps[i]!, text: 'kl', values: { value: column[i]! } }),
        );
        return negative.length > 0 ? fail(measured, evidence) : pass(measured);
      },
      ranges: (log) => [{ metric: 'kl', low: leastOf(log) }],
      says: (m) =>
        say`The KL is negative in ${m.negative} of ${m.entries} entries; the declared estimate cannot be negative.`,
    }),
    logCheck({
      code: 'B49.sign',
      title: 'The KL is not negative on average',
      stage: 'kl',
      level: 6,
      rank: 9,
      threshold: `over ${MIN_ENTRIES} entries or more, the mean of kl is not below −1e-4 and four standard errors below 0. It only informs, and other checks then read the KL with its sign turned`,
      sources: ['jingyaogong/minimind@101d7df2da05:trainer/train_grpo.py'],
      why: 'The mean of log π − log π_ref over samples of π is a KL divergence, which is 0 or more; single entries may be below.',
      remedy:
        'Log log π − log π_ref over the tokens of the completions; if it already is, compare the log-probs of the sampler with those of training.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'The log-probs of one step: those of the policy, of the reference and of the sampler.',
      needs: ['kl'],
      test(log) {
        const entries = withoutNaN(log.column('kl')).length;
        const mean = log.course.negativeKl;
        return mean === undefined ? pass({ entries, mean: Number.NaN }) : inform({ entries, mean });
      },
      says: (m) =>
        say`The KL is negative on average (${m.mean} over ${m.entries} entries), which a KL over the policy’s own samples cannot be: the log prints log π_ref − log π, or the policy did not draw these samples. The checks read it with its sign turned.`,
    }),
    logCheck({
      code: 'B49.explosion',
      title: 'The policy stays near the reference',
      stage: 'kl',
      level: 6,
      rank: 9,
      threshold:
        'the KL is above 1 nat per token in less than a tenth of the entries, or in one alone, and not in the last; fewer only inform, with their steps, and so does a KL for which the reward rose by the deviation within groups, or, where half of the entries are below 1 nat, rose beyond its noise, and so does one that is there from the first entry on, never twice as large and below 10 nats. Not applicable to a KL summed over each completion, to one of step 1 (B51.log), to one that begins at its largest (B51.falls), or to one that stands still (B38.constant)',
      sources: ['verl-project/verl#2953', 'huggingface/open-r1#257', 'huggingface/trl#3015'],
      why: 'At 1 nat per token every token is e times as likely as under the reference: the policy is another model. Runs that learn lie between 0.005 and 0.8; single tokens can make an entry of k3 as large as they like.',
      remedy: 'Lower the learning rate or raise β; look at the tokens with the largest ratio.',
      consequence: { rerun: 'GRPO', checkpointsVoid: false },
      induces: ['B54', 'B45', 'B16', 'B20', 'B30', 'B61'],
      settles: 'The record of such a step: which tokens hold the KL.',
      proofs: ['native'],
      needs: ['kl'],
      test(log): Outcome<Excess> {
        const { level } = log.declared.kl ?? {};
        if (level === 'sequence_sum') return notApplicable('a KL per token');
        const points = log.course.pointsOf('kl');
        if (points.length === 0) return notApplicable('a KL that is a number');
        // B51.log judges the KL of step 1.
        if (points.length === 1 && klOfStepOne(log)) return notApplicable('a KL of a later step');
        if (isOfFirstEntry(log, points[0]!.step) && log.course.fallingKl)
          return notApplicable('a KL that does not begin at its largest (B51.falls)');
        const far = points.filter(({ value }) => value > NATS);
        const [first] = far;
        const [measuredMedian, most] = [
          median(points.map(({ value }) => value)),
          largest(points.map(({ value }) => value)),
        ];
        const rates = withoutNaN(log.column('learning_rate'));
        const reward = log.course.of('reward');
        const paid = log.course.isPaid || (measuredMedian < NATS && log.course.lastingGain !== undefined);
        const isAll = far.length === points.length;
        // It came before the log begins, or lies in how the KL is computed: the updates in the log added little.
        const before = isAll && points.length > 1 && most < Math.min(DOUBLE * points[0]!.value, ABSURD);
        const measured = {
          paid,
          before,
          entries: points.length,
          median: measuredMedian,
          most,
          far: far.length,
          step: first?.step ?? 0,
          ...(rates.length > 0 && { rate: largest(rates) }),
          ...(reward && { start: reward.start, end: reward.end }),
        };
        const isStill = isAll && log.course.standsStill;
        if (!first || isStill) return pass(measured);
        const evidence = far.map(({ step, value }): Evidence => ({ step, text: 'kl', values: { value } }));
        const isLasting = far.length >= Math.max(2, points.length / 10) || points.at(-1)!.value > NATS;
        return isLasting && !paid && !before ? warn(measured, evidence) : inform(measured, evidence);
      },
      ranges: () => [{ metric: 'kl', high: NATS }],
      says: (m) =>
        m.entries === 1
          ? say`The KL is ${m.most} nats per token (step ${m.step}); at 1 a token is e times as likely as under the reference. The policy left the reference, or the two are scored differently.`
          : m.far < Math.max(2, m.entries / 10)
            ? say`The KL jumped past 1 nat per token in ${m.far} of ${m.entries} entries, first at step ${m.step} (up to ${m.most}); the median is ${m.median}.`
            : say`The KL is above 1 nat per token in ${m.far} of ${m.entries} entries, ${m.median < NATS ? 'first at' : 'from'} step ${m.step}${m.median < NATS ? '' : ' on'} (median ${m.median}, up to ${m.most})${m.before || m.median < NATS ? '' : ': the policy left the reference'}${m.end === undefined ? '' : say`, while the reward went from ${m.start!} to ${m.end}`}. ${m.before ? 'It is as large from the first entry on: what came before, or how the KL is computed, made it so.' : m.paid ? 'The reward paid for it.' : say`The updates are too large${m.rate === undefined ? '' : say` (learning rate up to ${m.rate})`}.`}`,
    }),
  ],
};

/** By rounding an estimate that is 0 may be a little below. */
const leastOf = (log: LogView) => (isFull(log) ? -1e-6 : -1e-3);

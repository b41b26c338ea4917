/** The loss is the sum of its parts, of every micro-batch, and a number. */
import type { StepRecord } from '../../trace/index.js';
import { stepCheck } from '../check.js';
import { fail, inform, notApplicable, pass } from '../outcome.js';
import { overUpdates } from '../over-updates.js';
import { formOf } from '../recompute/form.js';
import { entropyMeanOf } from '../recompute/micro-batches.js';
import { sum } from '../statistics.js';
import { isFull } from '../tolerance.js';

const consequence = { rerun: 'GRPO', checkpointsVoid: true } as const;

/** Relative to the largest part: sums in another order, and parts that were rounded to half precision. */
const ROUNDING = { full: 1e-4, half: 0.01 };
const roundingOf = (record: StepRecord) => (isFull(record) ? ROUNDING.full : ROUNDING.half);
const WITHIN = `${ROUNDING.full} in float32, ${ROUNDING.half} in half precision`;

export const lossChecks = [
  stepCheck({
    code: 'B45.finite',
    title: 'Loss and gradient are numbers',
    stage: 'loss',
    kind: 'identity',
    level: 6,
    threshold: 'finite; in float16 a gradient that overflows is skipped, and only informs',
    source: 'identity; trl#3248: 0/0 from an empty mask',
    remedy: 'Look at the first log-prob, reward or ratio that is not finite.',
    consequence,
    induces: ['B43', 'B49', 'B52', 'B53', 'B54'],
    needs: ['updates'],
    test({ updates }, { declared }) {
      const outcome = overUpdates(updates, ({ loss, gradNorm }) => {
        if (loss === undefined && gradNorm === undefined) return 'updates.loss or updates.gradNorm';
        const known = { ...(loss !== undefined && { loss }), ...(gradNorm !== undefined && { gradNorm }) };
        return Object.values(known).every(Number.isFinite) ? undefined : { values: known };
      });
      const overflow =
        declared?.dtype === 'float16' &&
        updates.every(({ loss }) => loss === undefined || Number.isFinite(loss));
      return outcome.verdict === 'fail' && overflow ? inform(outcome.measured, outcome.evidence) : outcome;
    },
  }),
  stepCheck({
    code: 'B43.components',
    title: 'The parts of the loss sum to the loss',
    stage: 'loss',
    kind: 'identity',
    level: 6,
    threshold: `|Σ coefficient × value − loss| within ${WITHIN}, of the largest part`,
    source: 'identity; seeds 002 and 003',
    remedy: 'Log the loss that is optimised, and its parts with the signs with which they enter it.',
    consequence: { rerun: 'nothing', checkpointsVoid: false },
    needs: ['updates'],
    test: ({ updates }, record) =>
      overUpdates(updates, ({ components, loss }) => {
        if (!components?.length || !Number.isFinite(loss))
          return 'updates.components and a finite updates.loss';
        const parts = components.map(({ coefficient, value }) => coefficient * value);
        const scale = Math.max(1e-6, ...parts.map(Math.abs), Math.abs(loss!));
        return Math.abs(sum(parts) - loss!) <= roundingOf(record) * scale
          ? undefined
          : { values: { sum: sum(parts), loss: loss! } };
      }),
  }),
  stepCheck({
    code: 'B43.terms',
    title: 'The weighted terms of the tokens sum to the loss',
    stage: 'loss',
    kind: 'identity',
    level: 6,
    threshold: `|Σ (policy × weight + β × KL × its weight) − c × entropy − loss| within ${WITHIN}, of Σ |…|; β is 0 where the KL is in the reward, the entropy the mean over the tokens that the policy term is kept for`,
    source: 'identity',
    remedy: 'Look for tokens that enter the loss twice or not at all, and for a normaliser applied twice.',
    consequence,
    needs: ['updates', 'declared'],
    test: ({ updates, declared }, record) =>
      overUpdates(updates, (update) => {
        const { policyTerms, klTerms, weights, klWeights = weights, loss, ...own } = update;
        const inLoss = { ...declared, ...(declared.klPlace === 'reward' && { beta: 0 }) };
        const { beta, entropyCoefficient = 0 } = { ...inLoss, ...own };
        if (
          !policyTerms ||
          !weights ||
          !Number.isFinite(loss) ||
          beta === undefined ||
          (beta !== 0 && !klTerms)
        )
          return 'updates: terms, weights and a finite loss; declared.beta';
        const entropy = entropyCoefficient === 0 ? 0 : entropyMeanOf(declared, record, update);
        if (typeof entropy === 'string') return entropy;
        let total = -entropyCoefficient * entropy;
        let size = Math.abs(total);
        for (let t = 0; t < weights.length; t++) {
          // NaN × 0 is NaN: a masked token may have no log-prob.
          if (weights[t] === 0) continue;
          const term =
            policyTerms[t]! * weights[t]! + (beta === 0 ? 0 : beta * klTerms![t]! * klWeights![t]!);
          total += term;
          size += Math.abs(term);
        }
        return Math.abs(total - loss!) <= roundingOf(record) * Math.max(size, 1e-6)
          ? undefined
          : { values: { sum: total, loss: loss! } };
      }),
  }),
  stepCheck({
    code: 'B44.micro-steps',
    title: 'Every micro-batch of an update is executed',
    stage: 'loss',
    kind: 'identity',
    level: 6,
    threshold: 'executed = configured, or weights that sum to 1 over what was executed',
    source: 'identity; seed 003: a `continue` that dropped work and kept the divisor',
    remedy: 'Divide by what was executed, and skip no step on which ranks exchange gradients.',
    consequence,
    induces: ['B43'],
    needs: ['updates'],
    test: ({ updates }) =>
      overUpdates(updates, ({ microBatches, weights }) => {
        if (!microBatches) return 'updates.microBatches';
        const whole = weights !== undefined && Math.abs(sum(weights) - 1) <= 1e-3;
        return microBatches.executed === microBatches.configured || whole
          ? undefined
          : { values: { executed: microBatches.executed, configured: microBatches.configured } };
      }),
  }),
  stepCheck({
    code: 'B41.split',
    title: 'The gradient does not depend on the split into micro-batches',
    stage: 'loss',
    kind: 'identity',
    level: 6,
    threshold:
      'cosine ≥ 0.9999 and norms within 0.1 % in float32, 0.99 and 3 % in half precision; bnpo and the entropy mask are defined by the split',
    source: 'identity; trl#6024, Liger#1082, ms-swift#10117',
    remedy: 'Normalise by the size of the whole update, once.',
    consequence,
    induces: ['B43'],
    needs: ['probes', 'declared'],
    test({ probes: { accumulation }, declared }, record) {
      const form = formOf(declared);
      const isSplit = typeof form === 'object' && form.aggregation === 'micro_token_mean';
      const { topEntropy = 1, entropyCoefficient = 0, compat } = declared;
      if (isSplit || topEntropy < 1 || (compat && entropyCoefficient !== 0))
        return notApplicable('a loss that the split does not define');
      if (!accumulation) return notApplicable('probes.accumulation');
      const { cosine, normRatio } = accumulation;
      const [least, most] = isFull(record) ? [0.9999, 1e-3] : [0.99, 0.03];
      const measured = { cosine, normRatio };
      return cosine >= least && Math.abs(normRatio - 1) <= most ? pass(measured) : fail(measured);
    },
  }),
];

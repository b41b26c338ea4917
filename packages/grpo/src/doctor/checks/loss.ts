/** The loss is what its parts say, over the tokens and by the weights that are declared. */
import type { StepRecord, UpdateRecord } from '../../trace/index.js';
import { stepCheck } from '../check.js';
import { membersOf, updateRows } from '../inputs.js';
import { type Evidence, fail, notApplicable, type Outcome, pass } from '../outcome.js';
import { isFlat, sum } from '../statistics.js';

const consequence = { rerun: 'GRPO', checkpointsVoid: true } as const;

/** Relative to the largest part: float32 sums in another order. */
const ROUNDING = 1e-4;

export const lossChecks = [
  stepCheck({
    code: 'B43.components',
    title: 'The parts of the loss sum to the loss',
    stage: 'loss',
    kind: 'identity',
    level: 6,
    threshold: `|Σ coefficient × value − loss| ≤ ${ROUNDING} × the largest part`,
    source: 'identity; seeds 002 and 003',
    remedy: 'Log the loss that is optimised, and its parts with the signs with which they enter it.',
    consequence: { rerun: 'nothing', checkpointsVoid: false },
    needs: ['updates'],
    test: ({ updates }) =>
      overUpdates(updates, ({ components, loss }) => {
        if (!components?.length || loss === undefined) return 'updates.components and updates.loss';
        const parts = components.map(({ coefficient, value }) => coefficient * value);
        const scale = Math.max(1e-6, ...parts.map(Math.abs), Math.abs(loss));
        return Math.abs(sum(parts) - loss) <= ROUNDING * scale
          ? undefined
          : { values: { sum: sum(parts), loss } };
      }),
  }),
  stepCheck({
    code: 'B43.terms',
    title: 'The weighted terms of the tokens sum to the loss',
    stage: 'loss',
    kind: 'identity',
    level: 6,
    threshold: `|Σ (policy + β × KL) × weight − loss| ≤ ${ROUNDING} × Σ |…|`,
    source: 'identity',
    remedy: 'Look for tokens that enter the loss twice or not at all, and for a normaliser applied twice.',
    consequence,
    needs: ['updates', 'declared'],
    test: ({ updates, declared: { beta = 0, entropyCoefficient = 0 } }) =>
      overUpdates(updates, ({ policyTerms, klTerms, weights, loss }) => {
        if (!policyTerms || !weights || loss === undefined || (beta !== 0 && !klTerms))
          return 'updates: terms, weights and loss';
        if (entropyCoefficient !== 0) return 'a loss without entropy bonus';
        let [total, size] = [0, 0];
        for (let t = 0; t < weights.length; t++) {
          // NaN × 0 is NaN: a masked token may have no log-prob.
          if (weights[t] === 0) continue;
          const term = (policyTerms[t]! + (beta === 0 ? 0 : beta * klTerms![t]!)) * weights[t]!;
          total += term;
          size += Math.abs(term);
        }
        return Math.abs(total - loss) <= ROUNDING * Math.max(size, 1e-6)
          ? undefined
          : { values: { sum: total, loss } };
      }),
  }),
  stepCheck({
    code: 'B41.weights',
    title: 'Tokens are weighted as the declared loss says',
    stage: 'loss',
    kind: 'identity',
    level: 6,
    threshold:
      'grpo: 1 / (completions × own length); dapo: 1 / tokens of the whole update; each within 1e-3 of itself',
    source: 'identity; trl#6024, ms-swift#10117: normalisers of the micro-batch, or applied twice',
    remedy: 'Normalise by the size of the whole update, whatever the split into micro-batches.',
    consequence,
    induces: ['B43'],
    needs: ['updates', 'masks', 'declared'],
    test: ({ updates, masks, declared: { loss } }, record) =>
      overUpdates(updates, (update) => {
        const weights = updateRows(record, update, 'weights');
        if (!weights || (loss !== 'grpo' && loss !== 'dapo')) return 'updates.weights of a loss grpo or dapo';
        const members = membersOf(record, update);
        const lengths = members.map((b) => masks[b]!.filter((value) => value !== 0).length);
        const tokens = sum(lengths);
        for (const [row, own] of weights.entries()) {
          const expected = loss === 'dapo' ? 1 / tokens : 1 / (members.length * Math.max(1, lengths[row]!));
          const mask = masks[members[row]!]!;
          const token = own.findIndex(
            (weight, t) => Math.abs(weight - mask[t]! * expected) > 1e-3 * expected,
          );
          if (token >= 0)
            return { completion: members[row]!, token, values: { weight: own[token]!, expected } };
        }
        return undefined;
      }),
  }),
  stepCheck({
    code: 'B44.micro-steps',
    title: 'Every micro-batch of an update is executed',
    stage: 'loss',
    kind: 'identity',
    level: 6,
    threshold: 'executed = configured',
    source: 'identity; seed 003: a `continue` that dropped work and kept the divisor',
    remedy: 'Divide by what was executed, and skip no step on which ranks exchange gradients.',
    consequence,
    induces: ['B43'],
    needs: ['updates'],
    test: ({ updates }) =>
      overUpdates(updates, ({ microBatches }) => {
        if (!microBatches) return 'updates.microBatches';
        return microBatches.executed === microBatches.configured ? undefined : { values: microBatches };
      }),
  }),
  stepCheck({
    code: 'B45.finite',
    title: 'Loss and gradient are numbers',
    stage: 'loss',
    kind: 'identity',
    level: 6,
    threshold: 'finite',
    source: 'identity; trl#3248: 0/0 from an empty mask',
    remedy: 'Look at the first log-prob, reward or ratio that is not finite.',
    consequence,
    induces: ['B52', 'B53', 'B54'],
    needs: ['updates'],
    test: ({ updates }) =>
      overUpdates(updates, ({ loss, gradNorm }) => {
        if (loss === undefined && gradNorm === undefined) return 'updates.loss or updates.gradNorm';
        const known = { ...(loss !== undefined && { loss }), ...(gradNorm !== undefined && { gradNorm }) };
        return Object.values(known).every(Number.isFinite) ? undefined : { values: known };
      }),
  }),
  stepCheck({
    code: 'B47.policy',
    title: 'The policy term is −min(ratio × A, clipped ratio × A)',
    stage: 'loss',
    kind: 'identity',
    level: 6,
    threshold:
      'every token within 1e-3 of max(1, |term|), for the losses grpo, dapo, bnpo and dr_grpo with token ratios',
    source: 'identity; Schulman et al., 2017; trl#3144',
    remedy: 'min, not max; both clips; the advantage’s sign; old log-probs without gradient.',
    consequence,
    induces: ['B43', 'B26'],
    needs: ['updates', 'advantages', 'declared'],
    test: ({ updates, advantages, declared }, record) => {
      const { loss, clipLow = 0.2, clipHigh = clipLow, ratioLevel = 'token', oldLogprobs } = declared;
      if (!loss || !/^(grpo|dapo|bnpo|dr_grpo)$/.test(loss) || ratioLevel !== 'token')
        return notApplicable('a loss with clipped token ratios');
      const old = record.scored?.oldLogprobs ? rowsOfOld(record) : undefined;
      if (!old && oldLogprobs !== 'detach') return notApplicable('scored.oldLogprobs');
      return overUpdates(updates, (update) => {
        const terms = updateRows(record, update, 'policyTerms');
        const policy = updateRows(record, update, 'policyLogprobs');
        if (!terms || !policy) return 'updates.policyTerms and updates.policyLogprobs';
        for (const [row, b] of membersOf(record, update).entries()) {
          for (const [token, term] of terms[row]!.entries()) {
            const ratio = old ? Math.exp(policy[row]![token]! - old[b]![token]!) : 1;
            const bounded = Math.max(1 - clipLow, Math.min(1 + clipHigh, ratio));
            const expected = -Math.min(ratio * advantages[b]!, bounded * advantages[b]!);
            if (Math.abs(term - expected) > 1e-3 * Math.max(1, Math.abs(expected))) {
              return { completion: b, token, values: { term, expected, ratio, advantage: advantages[b]! } };
            }
          }
        }
        return undefined;
      });
    },
  }),
  stepCheck({
    code: 'B42.sign',
    title: 'The entropy bonus lowers the loss',
    stage: 'loss',
    kind: 'identity',
    level: 6,
    threshold: 'coefficient × entropy ≤ 0 in the loss; along the loss a tiny step does not lower the entropy',
    source: 'identity; seed 002: the sign was wrong, and raising the coefficient hastened the collapse',
    remedy: 'loss = … − coefficient × entropy, with the gradient of the entropy itself.',
    consequence,
    needs: ['updates', 'declared'],
    test({ updates, declared: { entropyCoefficient } }, record) {
      if (!entropyCoefficient) return notApplicable('an entropy bonus');
      const change = record.probes?.tinyStep?.entropyChange;
      if (change !== undefined && change < 0) return fail({ entropyChange: change });
      return overUpdates(updates, ({ components }) => {
        const part = components?.find(({ name }) => name === 'entropy');
        if (!part) return 'an entropy component in updates.components';
        return part.coefficient * part.value <= 0
          ? undefined
          : { values: { coefficient: part.coefficient, value: part.value } };
      });
    },
  }),
  stepCheck({
    code: 'B45.zero',
    title: 'Advantages that differ from 0 give a gradient',
    stage: 'loss',
    kind: 'identity',
    level: 6,
    threshold:
      'gradient norm above 0 at the first update when some advantage is not 0 and some token is trained on',
    source: 'identity; a loss of 0 alone is normal at ratio 1 (trl#2703, trl#3452)',
    remedy:
      'Check that the mask has positions, that log-probs carry gradients, and that parameters require them.',
    consequence,
    induces: ['B52'],
    needs: ['firstUpdate', 'advantages', 'totals'],
    test({ firstUpdate: { gradNorm, loss }, advantages, totals }) {
      if (gradNorm === undefined) return notApplicable('updates.gradNorm');
      if (advantages.every((advantage) => advantage === 0) || isFlat(totals))
        return notApplicable('an advantage other than 0');
      const measured = { gradNorm, ...(loss !== undefined && { loss }) };
      return gradNorm === 0 ? fail(measured) : pass(measured);
    },
  }),
];

/**
 * Asks every update. `test` returns what is missing as text, where it does not hold as evidence, or undefined.
 */
function overUpdates(
  updates: readonly UpdateRecord[],
  test: (update: UpdateRecord) => string | Evidence | undefined,
): Outcome {
  const answers = updates.map(test);
  const missing = answers.find((answer) => typeof answer === 'string');
  if (missing !== undefined) return notApplicable(missing as string);
  const broken = answers.flatMap((answer, update): Evidence[] =>
    typeof answer === 'object' ? [{ ...answer, values: { update: update + 1, ...answer.values } }] : [],
  );
  const measured = { updates: updates.length, broken: broken.length, ...broken[0]?.values };
  return broken.length > 0 ? fail(measured, broken) : pass({ updates: updates.length });
}

function rowsOfOld(record: StepRecord): Float32Array[] {
  const { oldLogprobs, lengths } = record.scored!;
  let offset = 0;
  return Array.from(lengths!, (length) => {
    offset += length;
    return oldLogprobs!.subarray(offset - length, offset);
  });
}

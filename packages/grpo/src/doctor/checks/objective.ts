/** The terms of the loss have the form and the sign that make rewards and entropy rise. */
import { stepCheck } from '../check.js';
import { inputs, membersOf, updateRows } from '../inputs.js';
import { fail, notApplicable, pass } from '../outcome.js';
import { overUpdates } from '../over-updates.js';
import { nonzero, sum } from '../statistics.js';
import { isFull } from '../tolerance.js';

const consequence = { rerun: 'GRPO', checkpointsVoid: true } as const;

export const objectiveChecks = [
  stepCheck({
    code: 'B47.policy',
    title: 'The policy term is −min(ratio × A, clipped ratio × A)',
    stage: 'loss',
    kind: 'identity',
    level: 6,
    threshold:
      'every token with mask 1 within 1e-3 of max(1, |term|), for the losses grpo, dapo, bnpo and dr_grpo; the ratio of the token, or of the sequence: its mean log-ratio',
    source: 'identity; Schulman et al., 2017; trl#3144',
    remedy: 'min, not max; both clips; the advantage’s sign; old log-probs without gradient.',
    consequence,
    induces: ['B43', 'B26'],
    needs: ['updates', 'advantages', 'declared'],
    test: ({ updates, advantages, declared }, record) => {
      const { loss, clipLow = Number.NaN, clipHigh = clipLow, ratioLevel = 'token' } = declared;
      if (!loss || !/^(grpo|dapo|bnpo|dr_grpo)$/.test(loss) || !/^(token|sequence)$/.test(ratioLevel))
        return notApplicable('a loss with clipped ratios');
      const old = inputs.oldLogprobs.from(record);
      const masks = inputs.masks.from(record);
      if (Number.isNaN(clipLow)) return notApplicable('declared.clipLow');
      return overUpdates(updates, (update) => {
        const terms = updateRows(record, update, 'policyTerms');
        const policy = updateRows(record, update, 'policyLogprobs');
        // As the loss used them, where they are kept: that they are right is another check.
        const used = updateRows(record, update, 'ratios');
        if (!terms || !policy || !(old || used || declared.oldLogprobs === 'detach'))
          return 'updates.policyTerms, policyLogprobs, and ratios or scored.oldLogprobs';
        for (const [row, b] of membersOf(record, update).entries()) {
          const mask = masks?.[b] ?? terms[row]!.map(() => 1);
          const ratios =
            used?.[row] ?? ratiosOf(policy[row]!, old?.[b] ?? policy[row]!, mask, ratioLevel === 'sequence');
          const advantage = advantages[b]!;
          const own = terms[row]!;
          for (let token = 0; token < own.length; token++) {
            if (mask[token] === 0) continue;
            const term = own[token]!;
            const ratio = ratios[token]!;
            const bounded = Math.max(1 - clipLow, Math.min(1 + clipHigh, ratio));
            const expected = -Math.min(ratio * advantage, bounded * advantage);
            if (!(Math.abs(term - expected) <= 1e-3 * Math.max(1, Math.abs(expected))))
              return { completion: b, token, values: { term, expected, ratio, advantage } };
          }
        }
        return undefined;
      });
    },
  }),
  stepCheck({
    code: 'B40.old',
    title: 'The ratio is to the policy that sampled',
    stage: 'logprob',
    kind: 'identity',
    level: 6,
    threshold:
      'every ratio with mask 1 within 1e-3 in float32, 0.02 in half precision, of exp(policy − old), relatively',
    source: 'identity; trl#3120, trl#2769: old log-probs taken again after the update',
    remedy: 'Compute the old log-probs once, before the first update, and use them in every one.',
    consequence,
    induces: ['B43'],
    needs: ['updates', 'oldLogprobs', 'declared'],
    test({ updates, oldLogprobs, declared: { ratioLevel = 'token' } }, record) {
      const masks = inputs.masks.from(record);
      return overUpdates(updates, (update) => {
        const ratios = updateRows(record, update, 'ratios');
        const policy = updateRows(record, update, 'policyLogprobs');
        if (!ratios || !policy || !/^(token|sequence)$/.test(ratioLevel))
          return 'updates.ratios and updates.policyLogprobs';
        const within = isFull(record) ? 1e-3 : 0.02;
        for (const [row, b] of membersOf(record, update).entries()) {
          const mask = masks?.[b] ?? ratios[row]!.map(() => 1);
          const expected = ratiosOf(policy[row]!, oldLogprobs[b]!, mask, ratioLevel === 'sequence');
          const own = ratios[row]!;
          for (let token = 0; token < own.length; token++) {
            const [ratio, right] = [own[token]!, expected[token]!];
            if (mask[token] !== 0 && !(Math.abs(ratio - right) <= within * right))
              return { completion: b, token, values: { ratio, expected: right } };
          }
        }
        return undefined;
      });
    },
  }),
  stepCheck({
    code: 'B47.step',
    title: 'A tiny step along the policy term raises Σ A × log p',
    stage: 'loss',
    kind: 'identity',
    level: 6,
    threshold: 'change not below 0',
    source: 'identity: the policy term is minus that sum to first order; trl#224',
    remedy: 'The advantage’s sign; min, not max; log-probs with gradient, old ones without.',
    consequence,
    induces: ['B26'],
    needs: ['probes'],
    test({ probes: { tinyStep } }) {
      const change = tinyStep?.objectiveChange;
      if (change === undefined) return notApplicable('probes.tinyStep.objectiveChange');
      return change < 0 ? fail({ change }) : pass({ change });
    },
  }),
  stepCheck({
    code: 'B42.sign',
    title: 'The entropy bonus lowers the loss',
    stage: 'loss',
    kind: 'identity',
    level: 6,
    threshold:
      'coefficient × entropy ≤ 0 in the loss; a tiny step along the bonus alone does not lower the entropy',
    source: 'identity; seed 002: the sign was wrong, and raising the coefficient hastened the collapse',
    remedy: 'loss = … − coefficient × entropy, with the gradient of the entropy itself.',
    consequence,
    needs: ['updates', 'declared'],
    test({ updates, declared: { entropyCoefficient } }, record) {
      if (!(entropyCoefficient! > 0)) return notApplicable('an entropy bonus');
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
];

/** exp(log π − log π_old) of each token, or of the mean over the sequence for all of them. */
function ratiosOf(
  policy: Float32Array,
  old: Float32Array,
  mask: ArrayLike<number>,
  sequence: boolean,
): Float64Array {
  const ratios = new Float64Array(policy.length);
  for (let t = 0; t < ratios.length; t++) ratios[t] = mask[t] === 0 ? 0 : policy[t]! - old[t]!;
  if (sequence) ratios.fill(sum(ratios) / Math.max(1, nonzero(mask)));
  for (let t = 0; t < ratios.length; t++) ratios[t] = Math.exp(ratios[t]!);
  return ratios;
}

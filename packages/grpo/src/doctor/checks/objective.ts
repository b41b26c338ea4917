/** The terms of the loss have the form and the sign that make rewards and entropy rise. */
import type { StepRecord, UpdateRecord } from '../../trace/index.js';
import { stepCheck } from '../check.js';
import { inputs, membersOf, updateRows } from '../inputs.js';
import { type Evidence, fail, notApplicable, pass } from '../outcome.js';
import { overUpdates } from '../over-updates.js';
import { type Form, formOf } from '../recompute/form.js';
import { topsOf } from '../recompute/micro-batches.js';
import { missingOf, policyTermsOf } from '../recompute/policy-term.js';
import { ratiosOf } from '../recompute/ratio.js';
import { isTrained } from '../recompute/row.js';
import { isFull } from '../tolerance.js';

const consequence = { rerun: 'GRPO', checkpointsVoid: true } as const;

export const objectiveChecks = [
  stepCheck({
    code: 'B47.policy',
    title: 'The policy term is what the declared loss makes of ratio and advantage',
    stage: 'loss',
    kind: 'identity',
    level: 6,
    threshold:
      'every token with mask 1 within 1e-3 of max(1, |term|); clipped: −min(ratio × A, clipped ratio × A); else the declared policy term, with entropy mask, off-policy mask and sampler correction; tokens that rounding may mask aside',
    source: 'identity; Schulman et al., 2017; trl#3144',
    remedy: 'min, not max; both clips; the advantage’s sign; old log-probs without gradient.',
    consequence,
    induces: ['B43', 'B26'],
    needs: ['updates', 'advantages', 'declared'],
    test: ({ updates, advantages, declared }, record) => {
      const form = formOf(declared);
      if (typeof form === 'string') return notApplicable(form);
      const missing = missingOf(form, declared);
      return missing === undefined
        ? overUpdates(updates, (update) => policyMiss(form, record, update, advantages))
        : notApplicable(missing);
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
    test({ updates, oldLogprobs, declared }, record) {
      const { ratioLevel = 'token', ownStages } = declared;
      if (ownStages?.includes('objective')) return notApplicable('the standard stage objective');
      const masks = inputs.masks.from(record);
      return overUpdates(updates, (update) => {
        const ratios = updateRows(record, update, 'ratios');
        const policy = updateRows(record, update, 'policyLogprobs');
        if (!ratios || !policy) return 'updates.ratios and updates.policyLogprobs';
        const within = isFull(record) ? 1e-3 : 0.02;
        for (const [row, b] of membersOf(record, update).entries()) {
          const mask = masks?.[b];
          const own = { policy: policy[row]!, old: oldLogprobs[b]!, mask };
          const expected = ratiosOf(ratioLevel as Form['ratio'], own);
          for (let token = 0; token < expected.length; token++) {
            const [ratio, right] = [ratios[row]![token]!, expected[token]!];
            if (isTrained(mask, token) && !(Math.abs(ratio - right) <= within * right))
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
    induces: ['B43'],
    needs: ['updates', 'declared'],
    test({ updates, declared }, record) {
      const coefficients = updates.map((update) => ({ ...declared, ...update }).entropyCoefficient ?? 0);
      if (!coefficients.some((coefficient) => coefficient > 0)) return notApplicable('an entropy bonus');
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

/** The first token whose policy term is not the declared one; as text, what is missing to tell. */
function policyMiss(
  form: Form,
  record: StepRecord,
  update: UpdateRecord,
  advantages: Float64Array,
): Evidence | string | undefined {
  const declared = record.declared!;
  const terms = updateRows(record, update, 'policyTerms');
  const policy = updateRows(record, update, 'policyLogprobs');
  const old = inputs.oldLogprobs.from(record);
  // As the loss used them, where they are kept: that they are right is another check.
  const used = updateRows(record, update, 'ratios');
  const isCompared = form.policy !== 'vespo' && form.policy !== 'gmpo' && form.policy !== 'reinforce';
  if (!terms || !policy || !(old || (isCompared && used) || declared.oldLogprobs === 'detach'))
    return 'updates.policyTerms, policyLogprobs, and ratios or scored.oldLogprobs';
  const sampler = inputs.samplerLogprobs.from(record);
  if (declared.correction && !sampler) return inputs.samplerLogprobs.path;
  const tops = topsOf(declared, record, update);
  if (typeof tops === 'string') return tops;
  const masks = inputs.masks.from(record);
  for (const [i, completion] of membersOf(record, update).entries()) {
    const row = { policy: policy[i]!, old: old?.[completion], mask: masks?.[completion] };
    const ratios = used?.[i] ?? ratiosOf(form.ratio, row);
    const advantage = advantages[completion]!;
    const expected = policyTermsOf(form, declared, {
      ...row,
      advantage,
      ratios,
      sampler: sampler?.[completion],
      top: tops?.[i],
    });
    const own = terms[i]!;
    for (let token = 0; token < own.length; token++) {
      const [term, right] = [own[token]!, expected[token]!];
      if (!isTrained(row.mask, token) || Number.isNaN(right)) continue;
      if (!(Math.abs(term - right) <= 1e-3 * Math.max(1, Math.abs(right))))
        return { completion, token, values: { term, expected: right, ratio: ratios[token]!, advantage } };
    }
  }
  return undefined;
}

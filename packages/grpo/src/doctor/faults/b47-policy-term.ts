import { withoutNaN } from '../../maths/moments.js';
import type { StepRecord, UpdateRecord } from '../../trace/index.js';
import { logCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { inputs, membersOf, scoredRows, updateRows } from '../inputs.js';
import { at } from '../log-view.js';
import { overUpdates } from '../measures/over-updates.js';
import { type EvidenceOf, fail, inform, notApplicable, type Outcome, pass } from '../outcome.js';
import { type Form, formOf } from '../recompute/form.js';
import { corrects } from '../recompute/masks.js';
import { topsOf } from '../recompute/micro-batches.js';
import { missingOf, policyTermsOf } from '../recompute/policy-term.js';
import { ratiosOf } from '../recompute/ratio.js';
import { isTrained } from '../recompute/row.js';
import { say } from '../sentence.js';

/** Times the largest reward, or 1: a policy loss of this size is no mean of ratios near 1 and advantages. */
const LARGE = 10;

export const b47: Fault = {
  code: 'B47',
  name: 'policy term',
  title: 'Sign or clip of the policy term is wrong',
  left: 'live model',
  checks: [
    stepCheck({
      code: 'B47.policy',
      title: 'The policy term follows from ratio and advantage as the declared loss says',
      stage: 'loss',
      level: 6,
      rank: 5,
      threshold:
        'every token with mask 1 within 1e-3 × max(1, |term|) of the declared policy term, for a clipped loss −min(ratio × A, clipped ratio × A), for DPPO −min(ratio, cap) × A × log p within its trust region, with entropy mask, off-policy mask and sampler correction; tokens that rounding may mask are left out',
      sources: [
        'arXiv:2402.03300',
        'huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py',
        'huggingface/trl#3144',
      ],
      remedy:
        'Check that the advantage is that of the completion and the mask that of the token; then min (not max), both clips, the sign of the advantage, what leaves whole completions out (offPolicyThreshold), and that the old log-probs have no gradient.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B43', 'B26'],
      proofs: ['native'],
      needs: ['updates', 'advantages', 'declared'],
      test: ({ updates, advantages, declared }, record) => {
        const form = formOf(declared);
        if (typeof form === 'string') return notApplicable(form);
        const missing = missingOf(form, declared);
        return missing === undefined
          ? overUpdates(updates, (update) => policyMiss(form, record, update, advantages))
          : notApplicable(missing);
      },
      says: (m) =>
        say`The policy term of a token is ${m.term}; ratio ${m.ratio} and advantage ${m.advantage} give ${m.expected}.`,
    }),
    stepCheck({
      code: 'B47.step',
      title: 'A tiny step along the policy term raises Σ A × log p',
      stage: 'loss',
      level: 6,
      rank: 6,
      threshold: 'change ≥ 0',
      sources: ['arXiv:2402.03300', 'huggingface/trl#224'],
      why: 'The policy term is minus that sum to first order.',
      remedy:
        'Check the sign of the advantage, min (not max), and that the log-probs have a gradient and the old ones none.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B26'],
      needs: ['probes'],
      test({ probes: { tinyStep } }) {
        const change = tinyStep?.objectiveChange;
        if (change === undefined) return notApplicable('probes.tinyStep.objectiveChange');
        return change < 0 ? fail({ change }) : pass({ change });
      },
      says: (m) =>
        say`A tiny step along the policy term changes Σ advantage × log-prob by ${m.change}: it makes good completions less likely.`,
    }),
    logCheck({
      code: 'B47.size',
      title: 'The policy loss is as large as a mean of advantages',
      stage: 'loss',
      level: 6,
      rank: 7,
      threshold: `in fewer than two entries, or than a tenth, the policy loss is beyond ±${LARGE} times the largest reward, or the largest deviation of rewards, or 1; of a log without a KL the loss is taken where it has no policy loss. It only informs: a loss may be a sum over tokens`,
      sources: ['arXiv:2402.03300'],
      why: 'A mean of ratio × advantage is of the size of an advantage where ratios are near 1. A ratio of e^3 takes log-probs that differ by 3 nats.',
      remedy:
        'Compare the log-probs of the sampler with those of training on one batch: weights that did not reach the sampler, another template or temperature have this effect. Divide a loss that is a sum by its tokens.',
      consequence: { rerun: 'nothing', checkpointsVoid: false },
      settles: 'Ratios and advantages of such a step.',
      needs: [],
      test(log): Outcome<{ name: string; entries: number; far: number; most: number; limit: number }> {
        const name = log.has('policy_loss') || log.has('kl') ? 'policy_loss' : 'loss';
        const losses = log.column(name);
        // B45.log tells of those that are not finite.
        const entries = losses.filter(Number.isFinite).length;
        if (entries < 2)
          return notApplicable('policy_loss, or the loss of a log without a KL, in two entries');
        const sizes = ['reward', 'reward_std'].flatMap((metric) => withoutNaN(log.column(metric)));
        const limit = LARGE * Math.max(1, ...sizes.map(Math.abs));
        const far = [...losses.keys()].filter(
          (i) => Number.isFinite(losses[i]) && Math.abs(losses[i]!) > limit,
        );
        const most = far.reduce((a, i) => (Math.abs(losses[i]!) > Math.abs(a) ? losses[i]! : a), 0);
        const measured = {
          name: name === 'loss' ? 'loss' : 'policy loss',
          entries,
          far: far.length,
          most,
          limit,
        };
        return far.length < Math.max(2, entries / 10)
          ? pass(measured)
          : inform(
              measured,
              far.map((i) => at(log, i, name, losses[i]!)),
            );
      },
      says: (m) =>
        say`The ${m.name} lies beyond ±${m.limit} in ${m.far} of ${m.entries} entries (up to ${m.most}). A mean of ratio × advantage is no larger than an advantage: the ratios are far from 1, as where sampler and trainer score differently, or the loss is a sum.`,
    }),
  ],
};

/** The first token whose policy term is not the declared one; as text, the missing input. */
function policyMiss(
  form: Form,
  record: StepRecord,
  update: UpdateRecord,
  advantages: Float64Array,
): EvidenceOf<{ term: number; expected: number; ratio: number; advantage: number }> | string | undefined {
  const declared = record.declared!;
  const terms = updateRows(record, update, 'policyTerms');
  const policy = updateRows(record, update, 'policyLogprobs');
  const old = scoredRows(record, update, 'oldLogprobs');
  // The ratios that the loss used, if they are kept; another check judges them.
  const used = updateRows(record, update, 'ratios');
  // The others take their own ratios, from log-probs.
  const isCompared = ['clip', 'cispo', 'sapo'].includes(form.policy);
  if (!terms || !policy || !(old || (isCompared && used) || declared.objective?.oldLogprobs === 'detach'))
    return 'updates.policyTerms, policyLogprobs, and ratios or scored.oldLogprobs';
  const sampler = inputs.behaviorLogprobs.from(record);
  if (corrects(declared) && !sampler) return inputs.behaviorLogprobs.path;
  const tops = topsOf(declared, record, update);
  if (typeof tops === 'string') return tops;
  const masks = scoredRows(record, update, 'mask');
  for (const [i, completion] of membersOf(record, update).entries()) {
    const row = { policy: policy[i]!, old: old?.[i], mask: masks?.[i] };
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

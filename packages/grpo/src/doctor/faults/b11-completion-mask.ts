import { mean, moments, nonzero } from '../../maths/moments.js';
import { logCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { inputs, membersOf } from '../inputs.js';
import type { LogView } from '../log-view.js';
import { estimatedTokens } from '../measures/mask-plans.js';
import { type Evidence, fail, notApplicable, type Outcome, pass, warn } from '../outcome.js';
import { say } from '../sentence.js';

/** Advantages up to it may be those of equal rewards, whose mean was rounded. */
const ROUNDING = 1e-6;

export const b11: Fault = {
  code: 'B11',
  name: 'completion mask',
  title: 'The completion mask covers wrong positions',
  left: 'live model',
  checks: [
    stepCheck({
      code: 'B11.mask',
      title: 'The loss mask covers every token of the model and no other',
      stage: 'masks',
      level: 2,
      rank: 1,
      threshold:
        'mask 1 at tokens of the model, 0 at tokens of tools and template, and at those that no pass over a masked-diffusion model hides; wholly masked completions are left out',
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      remedy: 'Build the mask from lengths and sources, where the tokens are put together.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B08', 'B12', 'B37', 'B39', 'B45', 'B49'],
      proofs: ['native'],
      needs: ['ids', 'scoredIds', 'masks'],
      test({ ids, scoredIds, masks }, record) {
        const sources = inputs.sources.from(record);
        const isHidden = estimatedTokens(record);
        if (!isHidden) return notApplicable(inputs.plans.path);
        const wrong = masks.flatMap((mask, completion): Evidence[] => {
          if (nonzero(mask) === 0) return [];
          // The last token may be the end token, which has checks of its own.
          const inner = Math.min(mask.length, ids[completion]!.length - 1);
          const source = sources?.[completion];
          for (let token = 0; token < inner; token++) {
            if (mask[token] !== (source?.[token] || !isHidden(completion, token) ? 0 : 1))
              return [
                { completion, token, values: { mask: mask[token]!, id: scoredIds[completion]![token]! } },
              ];
          }
          return [];
        });
        const measured = { completions: masks.length, wrong: wrong.length };
        return wrong.length > 0 ? fail(measured, wrong) : pass(measured);
      },
      says: (m) =>
        say`The loss mask of ${m.wrong} of ${m.completions} completions is wrong: it leaves out tokens of the model, or covers other tokens.`,
    }),
    stepCheck({
      code: 'B11.empty',
      title: 'A completion with an advantage has tokens to train on',
      stage: 'masks',
      level: 2,
      rank: 1,
      threshold:
        'a token with mask 1 in every completion of an update whose advantage is above rounding, unless it is declared to be left out: truncated with objective.maskTruncated, off policy with objective.offPolicyThreshold, without a token of high entropy with entropy.topShare, masked by correction; a truncated completion is not judged where maskTruncated is not declared',
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'A mask that is placed as for padding on the other side misses the completions of short prompts as a whole.',
      remedy: 'Build the mask from lengths and sources, where the tokens are put together.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B08', 'B12', 'B37', 'B39', 'B45', 'B49'],
      proofs: ['native'],
      needs: ['masks', 'advantages'],
      test({ masks, advantages }, record) {
        const { objective, correction, entropy, ownStages } = record.declared ?? {};
        if (ownStages?.includes('objective'))
          return notApplicable('the standard stage objective: a custom stage need not do as declared');
        if (masks.every((mask) => nonzero(mask) === 0))
          return notApplicable('a token with mask 1: without any the mask is another question');
        const finish = record.completions?.finish;
        const isHidden = estimatedTokens(record);
        const sources = inputs.sources.from(record);
        const updates = record.updates ?? [];
        const trained = new Set(updates.flatMap((update) => membersOf(record, update)));
        const isLeftOut = (b: number) =>
          (objective?.maskTruncated !== false && finish?.[b] !== 'stop') ||
          (objective?.offPolicyThreshold != null && advantages[b]! < 0) ||
          (entropy?.topShare ?? 1) < 1 ||
          (correction?.level !== undefined && correction.level !== 'off');
        const judged = [...masks.keys()].filter(
          (b) =>
            Math.abs(advantages[b]!) > ROUNDING &&
            // One token may be the end token, which has checks of its own.
            masks[b]!.length > 1 &&
            (updates.length === 0 || trained.has(b)) &&
            (sources?.[b]?.includes(0) ?? true) &&
            masks[b]!.some((_, token) => isHidden?.(b, token)) &&
            !isLeftOut(b),
        );
        if (judged.length === 0)
          return notApplicable('completions with an advantage that nothing leaves out on purpose');
        const empty = judged.filter((b) => nonzero(masks[b]!) === 0);
        const measured = { judged: judged.length, empty: empty.length };
        if (empty.length === 0) return pass(measured);
        const evidence = empty.map((completion) => ({
          completion,
          values: { advantage: advantages[completion]!, tokens: masks[completion]!.length },
        }));
        return fail(measured, evidence);
      },
      says: (m) =>
        say`${m.empty} of ${m.judged} completions with an advantage are not trained on at all: their loss mask is empty, and no setting leaves them out.`,
    }),
    logCheck({
      code: 'B11.log',
      title: 'The tokens in the loss are those of the completions',
      stage: 'masks',
      level: 2,
      rank: 3,
      threshold:
        'reported when over 8 entries the tokens in the loss stay the same while lengths vary by a twentieth or more, or are a × (mean length + b), within a hundredth of their mean and a fifth of their deviation, with b above 2 or below −0.5 by six standard errors: so many tokens of each completion are none of its own, or left out',
      sources: ['huggingface/trl@f2cd57710ae3:trl/trainer/grpo_trainer.py'],
      why: 'A completion adds its own tokens to the loss, and nothing of its prompt or padding.',
      remedy: 'Build the mask from lengths and sources, where the tokens are put together.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B08', 'B12', 'B46'],
      settles: 'The mask of one completion beside its tokens.',
      needs: ['loss/tokens', 'completions/mean_length'],
      test(log): Outcome<{ entries: number; tokens: number; length: number; more?: number }> {
        const [tokens, lengths] = pairsOf(log);
        if (tokens.length < 8) return notApplicable('8 entries');
        const [t, l] = [moments(tokens, 0), moments(lengths, 0)];
        if (l.deviation < 0.001 * l.mean) return notApplicable('completions whose length varies');
        const covariance = mean(tokens.map((value, i) => (value - t.mean) * (lengths[i]! - l.mean)));
        const slope = covariance / l.deviation ** 2;
        const more = t.mean / slope - l.mean;
        const left = Math.sqrt(Math.max(0, t.deviation ** 2 - slope * covariance));
        const error = (left / slope / Math.sqrt(tokens.length)) * Math.hypot(1, l.mean / l.deviation);
        const measured = { entries: tokens.length, tokens: t.mean, length: l.mean };
        if (t.deviation < 1e-3 * t.mean)
          return l.deviation < 0.05 * l.mean
            ? notApplicable('completions whose length varies')
            : warn(measured);
        const isOther = more > 2 + 6 * error || more < -0.5 - 6 * error;
        const isLinear = left < 0.01 * t.mean && left < 0.2 * slope * l.deviation;
        return isLinear && isOther ? warn({ ...measured, more }) : pass(measured);
      },
      says: (m) =>
        m.more !== undefined && m.more < 0
          ? say`The tokens in the loss are those of the completions without ${-m.more} of each: the mask leaves out the end token, or the shift by one cuts a token off.`
          : m.more !== undefined
            ? say`The tokens in the loss are those of the completions and ${m.more} more for each: the mask covers tokens of the prompt, or padding.`
            : say`The loss has ${m.tokens} tokens in each of ${m.entries} entries, although the mean length of the completions changes: the mask covers padding.`,
    }),
  ],
};

/** Tokens in the loss and mean lengths of the entries that have both. */
function pairsOf(log: LogView): [tokens: number[], lengths: number[]] {
  const [tokens, lengths] = [log.column('loss/tokens'), log.column('completions/mean_length')];
  const both = [...tokens.keys()].filter((i) => tokens[i]! > 0 && lengths[i]! > 0);
  return [both.map((i) => tokens[i]!), both.map((i) => lengths[i]!)];
}

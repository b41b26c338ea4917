import { largest, withoutNaN } from '../../maths/moments.js';
import { median } from '../../maths/quantile.js';
import { logCheck, stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { fromTheStart } from '../log-view.js';
import { overUpdates } from '../measures/over-updates.js';
import { weightMiss } from '../measures/token-weights.js';
import { fail, notApplicable, pass, warn } from '../outcome.js';
import { formOf } from '../recompute/form.js';
import { percent, say } from '../sentence.js';
import { isFull } from '../tolerance.js';

/** Least growth of a gradient norm, and largest usual change from entry to entry, by which a sum over all steps is told. */
const GROWN = 3;
const SMOOTH = 0.04;

export const b41: Fault = {
  code: 'B41',
  name: 'accumulation',
  title: 'The normaliser of accumulated micro-batches is wrong',
  left: 'live model',
  checks: [
    stepCheck({
      code: 'B41.split',
      title: 'The gradient does not depend on the split into micro-batches',
      stage: 'loss',
      level: 6,
      rank: 4,
      threshold:
        'cosine ≥ 0.9999 and norms within 0.1 % in float32, 0.99 and 3 % in half precision; not applicable to bnpo and the entropy mask, which depend on the split by definition',
      sources: ['huggingface/trl#6024', 'linkedin/Liger-Kernel#1082', 'modelscope/ms-swift#10117'],
      remedy: 'Normalise by the size of the whole update, once.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B43'],
      needs: ['probes', 'declared'],
      test({ probes: { accumulation }, declared }, record) {
        const form = formOf(declared);
        const isSplit = typeof form === 'object' && form.aggregation === 'micro_token_mean';
        const { topShare = 1, coefficient = 0 } = declared.entropy ?? {};
        const compat = declared.objective?.compat;
        if (isSplit || topShare < 1 || (compat && coefficient !== 0))
          return notApplicable('a loss that the split does not define');
        if (!accumulation) return notApplicable('probes.accumulation');
        const { cosine, normRatio } = accumulation;
        const [least, most] = isFull(record) ? [0.9999, 1e-3] : [0.99, 0.03];
        const measured = { cosine, normRatio };
        return cosine >= least && Math.abs(normRatio - 1) <= most ? pass(measured) : fail(measured);
      },
      says: (m) =>
        say`The gradient of the update depends on its split into micro-batches: cosine ${m.cosine}, ratio of norms ${m.normRatio}.`,
    }),
    stepCheck({
      code: 'B41.weights',
      title: 'Tokens are weighted as the declared loss says',
      stage: 'loss',
      level: 6,
      rank: 5,
      threshold:
        'sequence_mean (grpo, sapo, gspo): 1 / (completions × own tokens), completions that are masked as a whole counted or not; token_mean (dapo, cispo, vespo): 1 / tokens of the whole update; micro_token_mean (bnpo): 1 / tokens of the micro-batch, and each micro-batch counts by its number of completions; constant (dr_grpo): 1 / (completions × the normaliser); sum: 1 / completions; each within a relative 1e-3. A KL of one value per completion: 1 / (completions × own tokens)',
      sources: ['huggingface/trl#6024', 'huggingface/trl#5619', 'modelscope/ms-swift#10117'],
      why: 'The loss was normalised per micro-batch, or twice.',
      remedy:
        'Normalise as the declared loss says: by the tokens of each completion, by those of the whole update whatever the split into micro-batches, or by a constant.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B43'],
      proofs: ['native'],
      needs: ['updates', 'masks', 'declared'],
      test({ updates, masks, declared }, record) {
        const form = formOf(declared);
        return typeof form === 'string'
          ? notApplicable(form)
          : overUpdates(updates, (update) => weightMiss(form, record, update, masks));
      },
      says: (m) =>
        say`Tokens are not weighted as declared: one token weighs ${m.weight} in place of ${m.expected}.${m.fits === undefined ? '' : say` They weigh as with aggregation=${m.fits}.`}`,
    }),
    logCheck({
      code: 'B41.kept',
      title: 'A step’s gradients are gone in the next step',
      stage: 'optimizer',
      level: 6,
      rank: 10,
      threshold: `reported when over 20 entries or more the gradient norm grows to ${GROWN} × the first and more, while from one entry to the next it changes by less than ${SMOOTH} of itself (median)`,
      why: 'Other batches give other gradients: in healthy runs, small and large, the norm changes by 0.1 to 0.6 of itself from entry to entry. A sum over all steps hardly changes.',
      remedy: 'Clear the gradients before each backward pass: optimizer.zero_grad().',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B30', 'B42', 'B49', 'B52', 'B54', 'B61', 'B62'],
      settles: 'The gradient norm of one batch, right after the gradients were cleared.',
      proofs: ['log only'],
      needs: ['grad_norm'],
      test(log) {
        const norms = withoutNaN(log.column('grad_norm'));
        if (norms.length < 20) return notApplicable('20 entries');
        const changes = norms
          .slice(1)
          .map((norm, i) => Math.abs(norm - norms[i]!) / Math.max(norm, norms[i]!));
        const measured = {
          entries: norms.length,
          first: norms[0]!,
          largest: largest(norms),
          change: median(withoutNaN(changes)),
        };
        const isGrown = measured.first > 0 && measured.largest > GROWN * measured.first;
        return isGrown && measured.change > 0 && measured.change < SMOOTH
          ? warn(measured, fromTheStart(log, 'grad_norm'))
          : pass(measured);
      },
      says: (m) =>
        say`The gradient norm grows from ${m.first} to ${m.largest} and changes by only ${percent(m.change)} from one entry to the next, whatever the batch: gradients of former steps are still in it.`,
    }),
  ],
};

import { largest, nonzero, sum } from '../../maths/moments.js';
import { stepCheck } from '../check.js';
import type { Fault } from '../fault.js';
import { scoredRows, updateRows } from '../inputs.js';
import { overUpdates } from '../measures/over-updates.js';
import { firstMiss, weightMiss } from '../measures/token-weights.js';
import { formOf } from '../recompute/form.js';
import { say } from '../sentence.js';

export const b46: Fault = {
  code: 'B46',
  name: 'padded denominator',
  title: 'The denominator ignores the mask',
  checks: [
    stepCheck({
      code: 'B46.padding',
      title: 'The denominator does not count padding',
      stage: 'loss',
      level: 6,
      rank: 4,
      threshold:
        'reported when every token weighs 1 / (completions × the longest completion) although completions differ in length, unless these weights are declared',
      sources: ['huggingface/trl#3256', 'huggingface/trl#6369', 'huggingface/trl#6439'],
      why: 'The denominator ignored the mask.',
      remedy: 'Divide by the tokens with mask 1, or by the constant that is declared.',
      consequence: { rerun: 'GRPO', checkpointsVoid: true },
      induces: ['B41', 'B43'],
      proofs: ['native'],
      needs: ['updates', 'masks', 'declared'],
      test: ({ updates, masks, declared }, record) =>
        overUpdates(updates, (update) => {
          const weights = updateRows(record, update, 'weights');
          const members = scoredRows(record, update, 'mask')!;
          const tokens = sum(members.map(nonzero));
          const padded = members.length * largest(members.map((mask) => mask.length));
          // Where they are nearly equal, both divisors fit.
          if (!weights || tokens === 0 || padded < 1.01 * tokens)
            return 'updates.weights of completions of unequal length';
          const form = formOf(declared);
          if (typeof form === 'object' && /^(constant|micro_token_mean)$/.test(form.aggregation))
            return 'a loss that divides by its own tokens';
          // If only the longest completion is trained on, a mean over completions gives these weights too.
          if (typeof form === 'object' && weightMiss(form, record, update, masks) === undefined)
            return undefined;
          const even = members.map(() => 1 / padded);
          return firstMiss(record, update, weights, members, even)
            ? undefined
            : { values: { weight: 1 / padded, tokens, padded } };
        }),
      says: (m) =>
        say`Every token weighs ${m.weight}: the loss is divided by ${m.padded} positions, padding included, in place of its ${m.tokens} tokens.`,
    }),
  ],
};

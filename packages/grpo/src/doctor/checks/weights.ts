/** Every token counts in the loss as the declared loss says. */
import type { StepRecord, UpdateRecord } from '../../trace/index.js';
import { stepCheck } from '../check.js';
import { membersOf, updateRows } from '../inputs.js';
import { type Evidence, notApplicable } from '../outcome.js';
import { overUpdates } from '../over-updates.js';
import { klWeighings, weighings } from '../recompute/aggregation.js';
import { type Form, formOf } from '../recompute/form.js';
import { sizesOf } from '../recompute/micro-batches.js';
import { largest, nonzero, sum } from '../statistics.js';

const consequence = { rerun: 'GRPO', checkpointsVoid: true } as const;

export const weightChecks = [
  stepCheck({
    code: 'B46.padding',
    title: 'Padding does not weigh',
    stage: 'loss',
    kind: 'identity',
    level: 6,
    threshold:
      'not: every token weighs 1 / (completions × the longest completion), of completions of unequal length, unless these are the weights that are declared',
    source: 'identity; trl#3256, trl#6439: a denominator that ignores the mask',
    remedy: 'Divide by the tokens with mask 1, or by the constant that is declared.',
    consequence,
    induces: ['B41', 'B43'],
    needs: ['updates', 'masks', 'declared'],
    test: ({ updates, masks, declared }, record) =>
      overUpdates(updates, (update) => {
        const weights = updateRows(record, update, 'weights');
        const members = membersOf(record, update).map((b) => masks[b]!);
        const tokens = sum(members.map(nonzero));
        const padded = members.length * largest(members.map((mask) => mask.length));
        // Where they are nearly equal, both divisors fit.
        if (!weights || tokens === 0 || padded < 1.01 * tokens)
          return 'updates.weights of completions of unequal length';
        const form = formOf(declared);
        if (typeof form === 'object' && /^(constant|micro_token_mean)$/.test(form.aggregation))
          return 'a loss that divides by its own tokens';
        // Where nothing but the longest is trained on, this is what a mean over completions makes of it.
        if (typeof form === 'object' && weightMiss(form, record, update, masks) === undefined)
          return undefined;
        const even = members.map(() => 1 / padded);
        return firstMiss(record, update, weights, masks, even)
          ? undefined
          : { values: { weight: 1 / padded, tokens, padded } };
      }),
  }),
  stepCheck({
    code: 'B41.weights',
    title: 'Tokens are weighted as the declared loss says',
    stage: 'loss',
    kind: 'identity',
    level: 6,
    threshold:
      'sequence_mean (grpo, sapo, gspo): 1 / (completions × own tokens), completions that are masked as a whole counted or not; token_mean (dapo, cispo, vespo): 1 / tokens of the whole update; micro_token_mean (bnpo): 1 / tokens of the micro-batch, that by its completions; constant (dr_grpo): 1 / (completions × the normaliser); sum: 1 / completions; each within 1e-3 of itself. A KL of one value a completion: 1 / (completions × own tokens)',
    source: 'identity; trl#6024, ms-swift#10117: normalisers of the micro-batch, or applied twice',
    remedy: 'Normalise by the size of the whole update, whatever the split into micro-batches.',
    consequence,
    induces: ['B43'],
    needs: ['updates', 'masks', 'declared'],
    test({ updates, masks, declared }, record) {
      const form = formOf(declared);
      return typeof form === 'string'
        ? notApplicable(form)
        : overUpdates(updates, (update) => weightMiss(form, record, update, masks));
    },
  }),
];

/** The first token that does not weigh as declared, in the policy’s part or in that of the KL. */
function weightMiss(
  form: Form,
  record: StepRecord,
  update: UpdateRecord,
  masks: readonly Uint8Array[],
): Evidence | string | undefined {
  const declared = record.declared!;
  const weights = updateRows(record, update, 'weights');
  if (!weights) return 'updates.weights';
  const own = membersOf(record, update).map((b) => nonzero(masks[b]!));
  const ways = weighings(form, declared, {
    own,
    sizes: sizesOf(record, update),
    all: masks.map(nonzero),
  });
  if (typeof ways === 'string') return ways;
  const miss = missOfAll(record, update, weights, masks, ways);
  const kl = updateRows(record, update, 'klWeights') ?? weights;
  // With a β for each kind they have it in them, and nothing tells what it is.
  if (miss || !update.klTerms || update.beta === 1 || declared.klPlace === 'reward') return miss;
  return missOfAll(record, update, kl, masks, klWeighings(declared, own, ways));
}

/** The first token that does not weigh as the first way says; undefined where some way fits. */
function missOfAll(
  record: StepRecord,
  update: UpdateRecord,
  weights: readonly Float32Array[],
  masks: readonly Uint8Array[],
  ways: readonly (readonly number[])[],
): Evidence | undefined {
  const misses = ways.map((way) => firstMiss(record, update, weights, masks, way));
  return misses.every((miss) => miss !== undefined) ? misses[0] : undefined;
}

/** The first token that does not weigh as expected of the trained tokens of its row. */
function firstMiss(
  record: StepRecord,
  update: UpdateRecord,
  weights: readonly Float32Array[],
  masks: readonly Uint8Array[],
  expected: readonly number[],
): Evidence | undefined {
  for (const [row, completion] of membersOf(record, update).entries()) {
    const mask = masks[completion]!;
    const own = weights[row]!;
    for (let token = 0; token < own.length; token++) {
      const weight = own[token]!;
      const right = mask[token] === 0 ? 0 : expected[row]!;
      if (!(Math.abs(weight - right) <= 1e-3 * right))
        return { completion, token, values: { weight, expected: right } };
    }
  }
  return undefined;
}

/** Every token counts in the loss as the declared loss says. */
import type { Declared, StepRecord, UpdateRecord } from '../../trace/index.js';
import { stepCheck } from '../check.js';
import { membersOf, updateRows } from '../inputs.js';
import type { Evidence } from '../outcome.js';
import { overUpdates } from '../over-updates.js';
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
      'not: every token weighs 1 / (completions × the longest completion), of completions of unequal length',
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
        if (declared.loss === 'dr_grpo' || declared.loss === 'bnpo')
          return 'a loss that divides by its own tokens';
        return firstMiss(record, update, weights, masks, () => 1 / padded)
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
      'grpo, sapo: 1 / (completions × own length), completions that are masked as a whole counted or not; dapo, cispo, vespo: 1 / tokens of the whole update; dr_grpo: 1 / (completions × maxNewTokens); each within 1e-3 of itself. bnpo depends on the split and is not judged',
    source: 'identity; trl#6024, ms-swift#10117: normalisers of the micro-batch, or applied twice',
    remedy: 'Normalise by the size of the whole update, whatever the split into micro-batches.',
    consequence,
    induces: ['B43'],
    needs: ['updates', 'masks', 'declared'],
    test: ({ updates, masks, declared }, record) =>
      overUpdates(updates, (update) => {
        const weights = updateRows(record, update, 'weights');
        const ways = weighings(
          declared,
          membersOf(record, update).map((b) => masks[b]!),
        );
        if (!weights || ways.length === 0) return 'updates.weights of a loss with known weights';
        const misses = ways.map((way) => firstMiss(record, update, weights, masks, way));
        return misses.every((miss) => miss !== undefined) ? misses[0] : undefined;
      }),
  }),
];

/** How much a token of a completion counts, by the declared loss: each way that is right. */
function weighings(
  { loss, maxNewTokens }: Declared,
  masks: readonly Uint8Array[],
): ((tokens: number) => number)[] {
  const lengths = masks.map(nonzero);
  const rows = [lengths.length, lengths.filter((length) => length > 0).length];
  if (/^(dapo|cispo|vespo)$/.test(loss ?? '')) return [() => 1 / sum(lengths)];
  if (loss === 'grpo' || loss === 'sapo') return rows.map((count) => (tokens) => 1 / (count * tokens));
  return loss === 'dr_grpo' && maxNewTokens ? rows.map((count) => () => 1 / (count * maxNewTokens)) : [];
}

/** The first token that does not weigh as expected. */
function firstMiss(
  record: StepRecord,
  update: UpdateRecord,
  weights: readonly Float32Array[],
  masks: readonly Uint8Array[],
  weightOf: (tokens: number) => number,
): Evidence | undefined {
  for (const [row, completion] of membersOf(record, update).entries()) {
    const mask = masks[completion]!;
    const trained = weightOf(nonzero(mask));
    const own = weights[row]!;
    for (let token = 0; token < own.length; token++) {
      const weight = own[token]!;
      const expected = mask[token] === 0 ? 0 : trained;
      if (!(Math.abs(weight - expected) <= 1e-3 * expected))
        return { completion, token, values: { weight, expected } };
    }
  }
  return undefined;
}

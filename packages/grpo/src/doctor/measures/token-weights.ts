/** Whether tokens weigh in the loss as they should. */

import { AGGREGATIONS } from '../../config/choices.js';
import { nonzero } from '../../maths/moments.js';
import type { StepRecord, UpdateRecord } from '../../trace/index.js';
import { membersOf, scoredRows, updateRows } from '../inputs.js';
import type { EvidenceOf } from '../outcome.js';
import { klWeighings, weighings } from '../recompute/aggregation.js';
import type { Form } from '../recompute/form.js';
import { sizesOf } from '../recompute/micro-batches.js';

type Miss = EvidenceOf<{ weight: number; expected: number; fits?: string }>;

/** The first token that does not weigh as declared, in the policy’s part or in that of the KL. */
export function weightMiss(
  form: Form,
  record: StepRecord,
  update: UpdateRecord,
  masks: readonly Uint8Array[],
): Miss | string | undefined {
  const declared = record.declared!;
  const weights = updateRows(record, update, 'weights');
  if (!weights) return 'updates.weights';
  const rows = scoredRows(record, update, 'mask')!;
  const own = rows.map(nonzero);
  const sizes = { own, sizes: sizesOf(record, update), all: masks.map(nonzero) };
  const ways = weighings(form, declared, sizes);
  if (typeof ways === 'string') return ways;
  const miss = missOfAll(record, update, weights, rows, ways);
  if (miss) {
    const fits = AGGREGATIONS.find((aggregation) => {
      const others =
        aggregation === form.aggregation ? '' : weighings({ ...form, aggregation }, declared, sizes);
      return typeof others !== 'string' && !missOfAll(record, update, weights, rows, others);
    });
    return fits ? { ...miss, values: { ...miss.values, fits } } : miss;
  }
  const kl = updateRows(record, update, 'klWeights') ?? weights;
  // With a β for each kind they have it in them, and nothing tells what it is.
  if (!update.klTerms || update.beta === 1 || declared.kl?.place === 'reward') return undefined;
  return missOfAll(record, update, kl, rows, klWeighings(declared.kl?.level, own, ways));
}

/** The first token that does not weigh as the first way says; undefined where some way fits. */
function missOfAll(
  record: StepRecord,
  update: UpdateRecord,
  weights: readonly Float32Array[],
  masks: readonly Uint8Array[],
  ways: readonly (readonly number[])[],
): Miss | undefined {
  const misses = ways.map((way) => firstMiss(record, update, weights, masks, way));
  return misses.every((miss) => miss !== undefined) ? misses[0] : undefined;
}

/** The first token that does not weigh as expected of the trained tokens of its row. */
export function firstMiss(
  record: StepRecord,
  update: UpdateRecord,
  weights: readonly Float32Array[],
  masks: readonly Uint8Array[],
  expected: readonly number[],
): Miss | undefined {
  for (const [row, completion] of membersOf(record, update).entries()) {
    const mask = masks[row]!;
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

/** The rows of an update, micro-batch by micro-batch. */
import { nonzero, sum } from '../../maths/moments.js';
import type { Declared, StepRecord, UpdateRecord } from '../../trace/index.js';
import { membersOf, scoredRows, updateRows } from '../inputs.js';
import { type Kept, topEntropyOf } from './masks.js';
import { sumOver } from './row.js';

/** Completions of each micro-batch; one of all where there was one. */
export function sizesOf(record: StepRecord, update: UpdateRecord): readonly number[] | undefined {
  const { sizes, executed, configured } = update.microBatches ?? {};
  return sizes ?? (executed === 1 && configured === 1 ? [membersOf(record, update).length] : undefined);
}

/** Ranges of rows that were computed together. */
function rangesOf(sizes: readonly number[]): [start: number, end: number][] {
  let end = 0;
  return sizes.map((size) => {
    end += size;
    return [end - size, end];
  });
}

/**
 * The tokens that the policy term is kept for, row by row; undefined where all are, and as text what it cannot be told
 * without.
 */
export function topsOf(
  { entropy }: Declared,
  record: StepRecord,
  update: UpdateRecord,
): readonly Kept[] | string | undefined {
  const { topShare = 1 } = entropy ?? {};
  if (topShare >= 1) return undefined;
  const entropies = updateRows(record, update, 'entropies');
  const sizes = sizesOf(record, update);
  if (!entropies || !sizes) return 'updates.entropies and updates.microBatches.sizes';
  const masks = scoredRows(record, update, 'mask');
  return rangesOf(sizes).flatMap(([start, end]) =>
    topEntropyOf(topShare, entropies.slice(start, end), masks?.slice(start, end)),
  );
}

/** What a token of a completion counts in the entropy that the bonus is of. */
export interface EntropyWeight {
  weight: number;
  /** 1 where a token counts; all do when missing. */
  kept: Uint8Array | undefined;
}

/**
 * By completion of an update; as text, what they cannot be told without. The entropy is a mean over the tokens that the
 * policy term is kept for; see `objective/entropy.ts`.
 */
export function entropyWeightsOf(
  declared: Declared,
  record: StepRecord,
  update: UpdateRecord,
): EntropyWeight[] | string {
  const tops = topsOf(declared, record, update);
  if (typeof tops === 'string') return tops;
  const members = membersOf(record, update);
  const compat = declared.objective?.compat;
  const byMicroBatch = tops !== undefined || compat !== undefined;
  const sizes = byMicroBatch ? sizesOf(record, update) : [members.length];
  if (!sizes) return 'updates.microBatches.sizes';
  const masks = scoredRows(record, update, 'mask');
  const lengths = record.scored?.lengths ?? record.completions?.lengths;
  const count = (kept: (row: number) => Uint8Array | undefined, start: number, end: number) =>
    sum(
      members.slice(start, end).map((b, i) => {
        const own = kept(start + i);
        return own ? nonzero(own) : lengths![b]!;
      }),
    );
  const trained = (row: number) => masks?.[row];
  const kept = (row: number) => (tops ? tops[row]!.kept : masks?.[row]);
  const tokens = count(trained, 0, members.length);
  return rangesOf(sizes).flatMap(([start, end]) => {
    const share = compat ? (end - start) / members.length : count(trained, start, end) / Math.max(tokens, 1);
    const weight = share / Math.max(count(kept, start, end), 1);
    return Array.from({ length: end - start }, (_, i) => ({ weight, kept: kept(start + i) }));
  });
}

/** The entropy that the bonus is of; as text, what it cannot be told without. */
export function entropyMeanOf(declared: Declared, record: StepRecord, update: UpdateRecord): number | string {
  const entropies = updateRows(record, update, 'entropies');
  const weights = entropyWeightsOf(declared, record, update);
  if (typeof weights === 'string') return weights;
  if (!entropies) return 'updates.entropies';
  return sum(
    weights.map(({ weight, kept }, i) => {
      const own = entropies[i]!;
      return weight * sumOver(own.length, kept, (t) => own[t]!).sum;
    }),
  );
}

/** The rows of an update, micro-batch by micro-batch. */
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

/** The entropy that the bonus is of: a mean over the tokens that the policy term is kept for; see `objective/entropy.ts`. */
export function entropyMeanOf(declared: Declared, record: StepRecord, update: UpdateRecord): number | string {
  const entropies = updateRows(record, update, 'entropies');
  const tops = topsOf(declared, record, update);
  const compat = declared.objective?.compat;
  if (typeof tops === 'string') return tops;
  if (!entropies) return 'updates.entropies';
  const byMicroBatch = tops !== undefined || compat !== undefined;
  const sizes = byMicroBatch ? sizesOf(record, update) : [entropies.length];
  if (!sizes) return 'updates.microBatches.sizes';
  const masks = scoredRows(record, update, 'mask');
  const over = (kept: (row: number) => Uint8Array | undefined, start: number, end: number) => {
    const totals = { sum: 0, count: 0 };
    for (let i = start; i < end; i++) {
      const own = entropies[i]!;
      const { sum, count } = sumOver(own.length, kept(i), (t) => own[t]!);
      totals.sum += sum;
      totals.count += count;
    }
    return totals;
  };
  const tokens = over((i) => masks?.[i], 0, entropies.length).count;
  return rangesOf(sizes).reduce((total, [start, end]) => {
    const { sum, count } = over((i) => (tops ? tops[i]!.kept : masks?.[i]), start, end);
    const trained = over((i) => masks?.[i], start, end).count;
    const share = compat ? (end - start) / entropies.length : trained / Math.max(tokens, 1);
    return total + (share * sum) / Math.max(count, 1);
  }, 0);
}

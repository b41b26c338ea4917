import type { AuditRecord } from '../trace/index.js';
import type { Measured } from './context.js';

/**
 * The part of a step's record that an audit fills.
 *
 * @param completions - of the step, that were computed again
 */
export const auditRecordOf = (
  measured: readonly Measured[],
  completions: readonly number[] = [],
): AuditRecord => ({
  completions: [...completions],
  comparisons: measured.flatMap((one) => ('comparisons' in one ? one.comparisons : [])),
  missing: measured.flatMap((one) =>
    'missing' in one ? [{ handOver: one.handOver, what: one.missing }] : [],
  ),
});

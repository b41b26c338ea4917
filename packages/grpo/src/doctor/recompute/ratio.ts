/** Policy to old policy, as `objective/ratio.ts` has it. */
import type { Form } from './form.js';
import { gapOf, meanOver, type Row } from './row.js';

/** The ratio of each trained token: its own, or of the mean log-ratio of its completion. */
export function ratiosOf(level: Form['ratio'], row: Row): Float64Array {
  const { length } = row.policy;
  const ratios = new Float64Array(length);
  if (!row.old) return ratios.fill(1);
  if (level === 'sequence' || level === 'sequence_token')
    return ratios.fill(Math.exp(meanOver(length, row.mask, (t) => gapOf(row, t))));
  for (let t = 0; t < length; t++) ratios[t] = Math.exp(gapOf(row, t));
  return ratios;
}

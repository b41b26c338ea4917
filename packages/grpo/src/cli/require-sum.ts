import type { Addends } from '../audit/folder/audit-merge.js';
import { UserError } from '../config/index.js';
import type { Comparison } from '../trace/index.js';

/** @throws UserError: what was written is not the sum of a model and an adapter, by the element that lies furthest off */
export function requireSum(written: string, { base, adapter }: Addends, worst: Comparison): void {
  const { tensor, found, plain, deviation, bound, compared } = worst;
  if (deviation <= bound) return;
  throw new UserError(
    `${written} is not the sum of ${base} and ${adapter}: an element of ${tensor} is ${found}, and a second computation has ${plain}`,
    {
      hint: `They lie ${deviation} apart, the worst of ${compared} elements; rounding explains ${bound}. Do not use what was written: the fault is ours, or the disk's.`,
    },
  );
}

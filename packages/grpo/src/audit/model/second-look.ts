import type { DType } from '@grpo/torch';
import type { Comparison } from '../../trace/index.js';
import type { Measured } from '../context.js';

/**
 * Whether a measurement of some completions needs a second one, of others: in half precision a sharp model has tokens that are
 * further off than any bound which still tells faults, one audit in some hundred; a fault shows in other completions, too.
 */
export function isDoubtful(measured: readonly Measured[], dtype: DType): boolean {
  const apart = comparisonsOf(measured).filter((one) => !holds(one));
  return dtype !== 'float32' && apart.length > 0 && apart.every(({ bound }) => bound > 0);
}

/**
 * Whether everything holds in the second one, which has all that did not hold in the first. A gradient whose slope is
 * rounding has nothing to be held to: what the first found of it is no more certain.
 */
export function settles(first: readonly Measured[], second: readonly Measured[]): boolean {
  const found = comparisonsOf(second);
  const names = new Set(found.map(nameOf));
  const isUnsure = second.some((one) => 'missing' in one && one.handOver === 'gradient');
  const doubtful = comparisonsOf(first).filter((one) => !holds(one));
  return (
    found.length > 0 &&
    found.every(holds) &&
    doubtful.every((one) => names.has(nameOf(one)) || (isUnsure && one.handOver === 'gradient'))
  );
}

const comparisonsOf = (measured: readonly Measured[]) =>
  measured.flatMap((one) => ('comparisons' in one ? one.comparisons : []));

const holds = ({ deviation, bound }: Comparison) => deviation <= bound;

/** A quantity, whatever the number of the problem in it. */
const nameOf = ({ quantity }: Comparison) => quantity.replace(/\d+/g, '');

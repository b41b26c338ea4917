/** Steps that can be opened. */
import type { StepEntry } from 'grpo/studio';
import { nearest } from './align.js';
import type { Span } from './span.js';

export interface Records {
  /** Steps with a whole record, ascending. */
  whole: Float64Array;
  /** All that can be opened: of some there are texts and rewards only. */
  all: Float64Array;
}

export function recordsOf(entries: readonly StepEntry[]): Records {
  const steps = (list: readonly StepEntry[]) => Float64Array.from(list, ({ step }) => step).sort();
  return { whole: steps(entries.filter(({ isWhole }) => isWhole)), all: steps(entries) };
}

/** Of the width that is in sight: a whole record this near is meant. */
const NEAR = 0.02;

/** The step that opens where one points at a step: the nearest, but a whole record before one of texts. */
export function stepToOpen({ whole, all }: Records, at: number, span: Span): number | undefined {
  const near = nearest(whole, at);
  const isNear = near !== undefined && Math.abs(near - at) <= NEAR * (span[1] - span[0]);
  return isNear ? near : nearest(all, at);
}

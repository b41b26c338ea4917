/** Steps that can be opened. */
import type { StepEntry } from 'grpo/studio';
import { nearest } from './align.js';
import type { Span } from './span.js';

export interface Records {
  /** Steps with a whole record, ascending. */
  whole: Float64Array;
  /** All steps that can be opened; some have texts and rewards only. */
  all: Float64Array;
}

export function recordsOf(entries: readonly StepEntry[]): Records {
  const steps = (list: readonly StepEntry[]) => Float64Array.from(list, ({ step }) => step).sort();
  return { whole: steps(entries.filter(({ isWhole }) => isWhole)), all: steps(entries) };
}

/** Share of the width in sight within which a whole record is meant. */
const NEAR = 0.02;

/** Returns the step that opens from the cursor: the nearest one, but a whole record before one of texts. */
export function stepToOpen({ whole, all }: Records, at: number, span: Span): number | undefined {
  const near = nearest(whole, at);
  const isNear = near !== undefined && Math.abs(near - at) <= NEAR * (span[1] - span[0]);
  return isNear ? near : nearest(all, at);
}

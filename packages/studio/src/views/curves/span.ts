import type { RunCurves } from 'grpo/studio';
import type { Route } from '../../route.js';

/** Steps that are in sight. */
export type Span = readonly [from: number, to: number];

/** The first and the last step of all curves. */
export function spanOf(runs: readonly Pick<RunCurves, 'curves'>[]): Span {
  let from = Number.POSITIVE_INFINITY;
  let to = Number.NEGATIVE_INFINITY;
  for (const { curves } of runs)
    for (const { steps } of curves)
      for (const step of steps) {
        if (step < from) from = step;
        if (step > to) to = step;
      }
  if (from > to) return [0, 1];
  return from === to ? [from - 1, to + 1] : [from, to];
}

/** The steps that an address zooms to; undefined where it names none of the run. */
export function zoomedSpan({ from, to }: Route['query'], whole: Span): Span | undefined {
  if (from === undefined || to === undefined) return undefined;
  const span: Span = [Math.max(whole[0], Number(from)), Math.min(whole[1], Number(to))];
  const isWhole = span[0] === whole[0] && span[1] === whole[1];
  return span[1] - span[0] >= 1 && !isWhole ? span : undefined;
}

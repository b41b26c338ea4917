import type { Reading } from './reading.js';

/** What can therefore be judged and what cannot, for people. */
export function limits({ records, series, runs, isGrpo }: Reading): string[] {
  if (!isGrpo || runs) return [];
  if (records) {
    return series
      ? []
      : ['Step records without a log: single steps are judged, and trends of what they hold.'];
  }
  return [
    'A log of metrics alone: trends and contradictions are judged; tokens, masks, log-probs and single rewards are not. Step records would show them.',
  ];
}

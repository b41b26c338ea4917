/** Completions whose worth is known beforehand, by what they are. */
export const CANARY = {
  gold: 'gold',
  empty: 'empty',
  spaces: 'white space',
  newline: 'newline',
  prompt: 'prompt copy',
  format: 'format without answer',
  options: 'all options',
  other: 'gold of another row',
  smaller: 'smaller number',
  larger: 'larger number',
  repeated: 'gold repeated',
} as const;

/** The gold once more, in another place of the batch: it is worth what the gold earned. */
export const AGAIN = 'gold again';

export type CanaryKind = (typeof CANARY)[keyof typeof CANARY];

/** The name of the weighted sum where rewards are named; rewards that were left out are not in it when it is `PART`. */
export const TOTAL = 'total';
export const PART = 'part of the total';

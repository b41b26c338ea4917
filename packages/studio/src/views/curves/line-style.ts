/** Colours and dashes that tell lines apart. */

export const LINE_COLOURS = [
  'curves-1',
  'curves-2',
  'curves-3',
  'curves-4',
  'curves-5',
  'curves-6',
  'curves-7',
  'curves-8',
] as const;

const DASHES: readonly (readonly number[])[] = [
  [],
  [7, 3],
  [2, 3],
  [9, 3, 2, 3],
  [14, 4],
  [5, 2, 1, 2, 1, 2],
  [4, 4],
  [1, 2],
];

/** Variables of the style sheet that a chart is drawn with. */
export const CHART_COLOURS = [
  ...LINE_COLOURS,
  'ground',
  'line',
  'ink',
  'soft',
  'good',
  'warn',
  'fail',
  'link',
] as const;
export type Colours = Record<(typeof CHART_COLOURS)[number], string>;

export const colourName = (style: number) => LINE_COLOURS[style % LINE_COLOURS.length]!;
export const dashOf = (style: number): number[] => [...DASHES[style % DASHES.length]!];

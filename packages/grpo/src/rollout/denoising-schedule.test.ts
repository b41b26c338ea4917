import { expect, it } from 'vitest';
import { denoisingSchedule } from './denoising-schedule.js';

const causalShape = { maskId: 0, shifted: false };

/** Places filled by each step, one list per block. */
function filled(
  width: number,
  options: { blockLength?: number; steps?: number },
  {
    whole = width,
    shape = causalShape,
  }: { whole?: number; shape?: Parameters<typeof denoisingSchedule>[3] } = {},
): number[][] {
  const blocks = new Map<number, number[]>();
  for (const { start, end, count } of denoisingSchedule(width, whole, options, shape)) {
    expect(end - start).toBeLessThanOrEqual(options.blockLength ?? shape.blockLength ?? whole);
    blocks.set(start, [...(blocks.get(start) ?? []), count]);
  }
  return [...blocks.values()];
}

it.each<[number, { blockLength?: number; steps?: number }, number[][]]>([
  // One place per step, all places one block.
  [4, {}, [[1, 1, 1, 1]]],
  // LLaDA's own: the remainder in the first steps.
  [10, { steps: 4 }, [[3, 3, 2, 2]]],
  [
    16,
    { blockLength: 8, steps: 4 },
    [
      [4, 4],
      [4, 4],
    ],
  ],
  [
    16,
    { blockLength: 8, steps: 6 },
    [
      [3, 3, 2],
      [3, 3, 2],
    ],
  ],
  // Blocks and steps that do not divide.
  [
    10,
    { blockLength: 4, steps: 10 },
    [
      [1, 1, 1, 1],
      [1, 1, 1, 1],
      [1, 1],
    ],
  ],
  [10, { blockLength: 4, steps: 3 }, [[4], [4], [2]]],
  [12, { blockLength: 4, steps: 5 }, [[2, 2], [4], [2, 2]]],
  // Fewer steps than blocks, more steps than places, a block longer than the region.
  [12, { blockLength: 4, steps: 1 }, [[4], [4], [4]]],
  [3, { steps: 9 }, [[1, 1, 1]]],
  [3, { blockLength: 8, steps: 1 }, [[3]]],
])('fills %d places by %o as %j', (width, options, expected) => {
  expect(filled(width, options)).toEqual(expected);
});

it('is the model’s own where the options say nothing', () => {
  const shape = { ...causalShape, blockLength: 4, steps: 4 };
  expect(filled(8, {}, { shape })).toEqual([
    [2, 2],
    [2, 2],
  ]);
  expect(filled(8, { steps: 8 }, { shape })).toEqual([
    [1, 1, 1, 1],
    [1, 1, 1, 1],
  ]);
  expect(filled(8, { blockLength: 8 }, { shape })).toEqual([[2, 2, 2, 2]]);
});

it('begins alike where the context cuts the region short', () => {
  expect(filled(6, { blockLength: 4, steps: 8 }, { whole: 16 })).toEqual([[2, 2], [2]]);
});

import { expect, it } from 'vitest';
import { timelineOf } from './stage-timeline.js';

it('puts stages one after another', () => {
  const stages = [
    { name: 'sample', seconds: 3 },
    { name: 'score', seconds: Number.NaN },
    { name: 'update', seconds: 9 },
  ];
  expect(timelineOf(stages)).toEqual({
    total: 12,
    slowest: 2,
    bars: [
      { start: 0, share: 0.25 },
      { start: 0.25, share: 0 },
      { start: 0.25, share: 0.75 },
    ],
  });
});

it('gives no share of no time', () => {
  expect(timelineOf([{ name: 'sample', seconds: 0 }]).bars).toEqual([{ start: 0, share: 0 }]);
});

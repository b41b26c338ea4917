import { expect, it } from 'vitest';
import { drawnFlags } from './drawn-flags.js';

it('draws flags by the seed alone, and other ones by another', () => {
  expect(drawnFlags(3)).toEqual(drawnFlags(3));
  const drawn = Array.from({ length: 40 }, (_, seed) => drawnFlags(seed));
  expect(new Set(drawn.map((flags) => JSON.stringify(flags))).size).toBe(40);
  expect(new Set(drawn.map(({ model }) => model)).size).toBe(2);
  for (const flags of drawn) {
    expect(flags.prompts).toBeGreaterThanOrEqual(1);
    expect(flags['completion-len']).toBeGreaterThanOrEqual(16);
  }
});

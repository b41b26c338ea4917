import { expect, it } from 'vitest';
import { layoutBytes, weightCount } from './holdings.js';
import { config, engine } from './lots.test.helper.js';
import { LEAST_LOT, lotBytes, roomOfLots } from './room.js';

const free = 2 ** 36;

it('a lot on a CPU has half of the bytes of the weights, and no less than the least', () => {
  expect(weightCount(config) * engine.size).toBeLessThan(2 * LEAST_LOT);
  expect(lotBytes(config, engine, free)).toBe(LEAST_LOT);
  const large = { ...config, vocabSize: 2 ** 26 };
  expect(lotBytes(large, engine, free)).toBe((weightCount(large) * engine.size) / 2);
});

it('a lot on a GPU has what the budget leaves beside the layout and the prompts', () => {
  const onGpu = { ...engine, fuses: false };
  expect(lotBytes(config, onGpu, free)).toBe(roomOfLots(config, onGpu, free));
  expect(lotBytes(config, onGpu, free)).toBe(Math.floor((free - layoutBytes(config, engine.size)) / 1.25));
});

it('no lot is larger than what the budget leaves', () => {
  expect(lotBytes(config, engine, 2 ** 24)).toBe(roomOfLots(config, engine, 2 ** 24));
  expect(lotBytes(config, engine, 0)).toBe(0);
});

import { expect, it } from 'vitest';
import { explainedUpdate, type Moved } from './explained-update.js';
import { type AdamWSettings, plainAdamW } from './plain/plain-adamw.js';

const SETTINGS: AdamWSettings = {
  learningRate: 1e-3,
  beta1: 0.9,
  beta2: 0.999,
  epsilon: 1e-8,
  weightDecay: 0.1,
  singleDecays: false,
};
const STEP = 5;

/** Weights that other settings moved; those of the second half as declared where `half` is set. */
const moved = (settings: Partial<AdamWSettings>, half = false): Moved[] =>
  Array.from({ length: 40 }, (_, i) => {
    const own = { weight: 0.5 - 0.03 * i, mean: 1e-3 * Math.sin(i + 1), square: 1e-8 * (1 + i) };
    const gradient = 1e-3 * Math.cos(3 * i);
    const plain = plainAdamW(own, gradient, STEP, SETTINGS);
    const found = half && i >= 20 ? plain : plainAdamW(own, gradient, STEP, { ...SETTINGS, ...settings });
    return {
      before: own.weight,
      found: found.weight.value,
      plain: plain.weight.value,
      bound: plain.weight.bound,
      mean: plain.mean.value,
      square: plain.square.value,
    };
  });
const explained = (settings: Partial<AdamWSettings>, half = false) => {
  const told = explainedUpdate(moved(settings, half), STEP, SETTINGS);
  return told && [told.quantity.split(' ')[0], told.pair.found];
};

it('solves an update for the one setting that is another', () => {
  expect(explained({ learningRate: 1e-4 })).toEqual(['move', expect.closeTo(0.1, 6)]);
  expect(explained({ weightDecay: 0.4 })).toEqual(['weight', expect.closeTo(0.4, 4)]);
  expect(explained({ epsilon: 1e-3 })).toEqual(['ε', expect.closeTo(1e-3, 6)]);
});

it('explains nothing that is as declared, and no rate of some weights alone', () => {
  expect(explained({})).toBeUndefined();
  expect(explained({ learningRate: 1e-4 }, true)).toBeUndefined();
  expect(explained({ beta1: 0.5, learningRate: 2e-3 })).toBeUndefined();
});

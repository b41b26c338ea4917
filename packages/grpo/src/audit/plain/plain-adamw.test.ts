import { expect, it } from 'vitest';
import { uniform } from '../../maths/random.js';
import { plainAdamW, WEIGHT_PARTS, type WeightPart } from './plain-adamw.js';

const settings = { learningRate: 1e-3, beta1: 0.9, epsilon: 1e-8, weightDecay: 0.01 };
const single = Math.fround;

/** A step as libtorch's kernel for CUDA takes it, which an H200 showed: decays and their powers in float32. */
function inSingle(own: Record<WeightPart, number>, gradient: number, step: number, beta2: number) {
  const { learningRate, beta1, epsilon, weightDecay } = settings;
  const [b1, b2] = [single(beta1), single(beta2)];
  const between = (old: number, now: number, beta: number) =>
    single(old + single(single(1 - beta) * single(now - old)));
  const mean = between(own.mean, gradient, b1);
  const square = between(own.square, single(gradient * gradient), b2);
  const [meanScale, squareScale] = [b1, b2].map((beta) => single(1 - single(beta ** step))) as [
    number,
    number,
  ];
  const denominator = single(single(Math.sqrt(square)) / single(Math.sqrt(squareScale))) + epsilon;
  const decayed = single(own.weight - single(learningRate * weightDecay * own.weight));
  const change = single(single(single(learningRate / meanScale) * mean) / single(denominator));
  return { mean, square, weight: single(decayed - change) };
}

const drawn = (...keys: number[]) => single(2 * uniform(0, ...keys) - 1);

/** Whether each part of 500 such steps lies within the bounds. */
function within(step: number, beta2: number, singleDecays: boolean): boolean[] {
  const steps = Array.from({ length: 500 }, (_, i) => {
    const own = {
      weight: drawn(i, 0),
      mean: step > 1 ? drawn(i, 1) : 0,
      square: step > 1 ? drawn(i, 2) ** 2 : 0,
    };
    const gradient = drawn(i, 3);
    const stored = { ...own, square: single(own.square) };
    const found = inSingle(stored, gradient, step, beta2);
    const plain = plainAdamW(stored, gradient, step, { ...settings, beta2, singleDecays });
    return WEIGHT_PARTS.map((part) => Math.abs(found[part] - plain[part].value) <= plain[part].bound);
  });
  return WEIGHT_PARTS.map((_, part) => steps.every((parts) => parts[part]));
}

it.each([
  [1, 0.99],
  [1, 0.999],
  [2, 0.999],
  [10, 0.999],
])(
  'step %i with β₂ %d in float32 is within the bounds of decays in float32, and of no others',
  (step, beta2) => {
    expect(within(step, beta2, true)).toEqual([true, true, true]);
    expect(within(step, beta2, false)[WEIGHT_PARTS.indexOf('square')]).toBe(false);
  },
);

import { expect, it } from 'vitest';
import { shareDrifted, shareMoved } from './compare-gradients.js';

const slopesOf = (logprobs: readonly number[]) => [
  { logprobs: Float64Array.from(logprobs), entropies: new Float64Array(logprobs.length) },
];

it('certain tokens, which have slopes and hardly a gradient, do not hide one whose slope is rounding', () => {
  const certain = Array.from({ length: 90 }, () => 1);
  const logprobs = Float32Array.from([...certain.map(() => -1e-4), -1.6]);
  const moved = shareMoved(slopesOf([...certain, -0.99]), slopesOf([...certain, -0.38]), [logprobs]);
  // The gradient is that of the last token alone.
  expect(moved).toBeCloseTo(0.61 / 0.99, 2);
  // As uncertain as that one, the others have a gradient that does not move.
  const open = shareMoved(slopesOf([...certain, -0.99]), slopesOf([...certain, -0.38]), [
    logprobs.fill(-1.6),
  ]);
  expect(open).toBeCloseTo(0.61 / Math.hypot(...certain, 0.99), 2);
});

it('what other log-probs of the tokens that move a gradient do to it is their own, not the gradient’s', () => {
  const slopes = slopesOf([1, 1, 1]);
  const plain = [Float32Array.from([-0.405, -1e-4, -1e-4])];
  expect(shareDrifted(slopes, plain, plain)).toBe(0);
  // 1 − p of the first is 0.333, and 0.456 with the other log-prob.
  expect(shareDrifted(slopes, plain, [Float32Array.from([-0.609, -1e-4, -1e-4])])).toBeCloseTo(0.37, 2);
  expect(shareDrifted(slopes, plain, [Float32Array.from([-0.405, -3e-4, -1e-4])])).toBeLessThan(0.001);
});

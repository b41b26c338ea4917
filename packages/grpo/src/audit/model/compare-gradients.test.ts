import { expect, it } from 'vitest';
import { shareMoved } from './compare-gradients.js';

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

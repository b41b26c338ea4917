import { expect, it } from 'vitest';
import { gpuRow } from './gpu-table.mjs';

const ours = {
  rollout_s_median: 2,
  train_s_median: 4,
  step_s_median: 6,
  stages: [
    { stage: 'decode', seconds: 2, gflops: 900 },
    { stage: 'logprob', seconds: 1, gflops: 600 },
    { stage: 'backward', seconds: 2, gflops: 700 },
    { stage: 'optimizer', seconds: 0.1 },
  ],
};

it('compares with generate, with the matrix rate and with the two together', () => {
  const peer = { generate_s_median: 11, train_s_median: 9, matmul_gflops: 1000 };
  expect(gpuRow('m', ours, peer)).toEqual([
    'm',
    '2.000',
    '11.000',
    '4.000',
    '9.000',
    '5.50 × (≥ 5.00 ×)',
    // 600 + 2 × 700 operations in 4 seconds; sampling is no part of it.
    '50 % (≥ 40 %)',
    '3.33 × (≥ 4.00 ×)',
    'step',
  ]);
});

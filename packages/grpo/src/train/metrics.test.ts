import { tensor, tidy } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { groupAdvantages } from '../objective/index.js';
import type { Completion } from '../rollout/index.js';
import { metricsOf } from './metrics.js';
import type { StepResult } from './step.js';
import { TokenTally } from './tally.js';

/** Two groups of two: lengths 2 (ended), 6 (cut), 3 (ended), 4 (ended, its reward missing). */
function stepResult(changes: Partial<StepResult> = {}): StepResult {
  const completions_B = (
    [
      [2, 'stop'],
      [6, 'length'],
      [3, 'stop'],
      [4, 'stop'],
    ] as const
  ).map(([length, finishReason]): Completion => {
    const logprobs = new Float32Array(length);
    return { ids: Array(length).fill(1), text: '', finishReason, logprobs, sampledLogprobs: logprobs };
  });
  const rewards_B = Float64Array.of(1, 0, 2, Number.NaN);
  return {
    rollout: {
      problems: [],
      prompts: [],
      trained: { prompts: [], completions_B: [] },
      completions_B,
      rewardTable: {
        names: ['right', 'short'],
        weights: [1, 0],
        columns: [rewards_B, Float64Array.of(4, 4, 4, 4)],
        dropped: Uint8Array.of(0, 0, 0, 1),
        failures: [{ reward: 'right', index: 3, affected: 1, prompt: '', completion: '', reason: 'threw' }],
      },
      rewards_B,
      advantages: groupAdvantages(rewards_B, 2, 'group'),
    },
    frozen: { old_B: undefined, reference_B: undefined },
    scored: new Map(),
    updates: [],
    probes: undefined,
    learningRate: 0.5,
    loss: -0.25,
    gradNorm: 3,
    means: { clippedLow: 0.1, clippedHigh: 0.2, entropy: 1.5, samplerGapMean: 1e-7, samplerGapMax: 1e-6 },
    seconds: { sample: 2, backward: 1 },
    ...changes,
  };
}

describe('the metrics of a step', () => {
  it('describe rewards, lengths and updates', () => {
    const row = metricsOf(stepResult(), 7, { tokens: 100, stepTokens: 15 });
    expect(row).toMatchObject({
      step: 7,
      reward: 1,
      reward_std: 1,
      // Of the second group one reward is left: nothing to compare it with.
      frac_reward_zero_std: 0.5,
      'completions/mean_length': 3.75,
      'completions/min_length': 2,
      'completions/max_length': 6,
      'completions/clipped_ratio': 0.25,
      'completions/mean_terminated_length': 3,
      loss: -0.25,
      grad_norm: 3,
      learning_rate: 0.5,
      entropy: 1.5,
      'clip_ratio/low_mean': 0.1,
      'clip_ratio/high_mean': 0.2,
      'sampling/sampling_logp_difference/mean': 1e-7,
      'sampling/sampling_logp_difference/max': 1e-6,
      num_tokens: 100,
      step_tokens: 15,
      reward_failures: 1,
      'rewards/right/mean': 1,
      'rewards/right/std': 1,
      'rewards/short/mean': 4,
      'rewards/short/std': 0,
    });
    expect(row).not.toHaveProperty('kl');
  });

  it('have a KL with a reference, 0 included', () => {
    const { means } = stepResult();
    const row = metricsOf(stepResult({ means: { ...means, kl: 0 } }), 1, { tokens: 1, stepTokens: 1 });
    expect(row.kl).toBe(0);
  });
});

describe('a tally', () => {
  it('weighs micro-batches by their tokens', () => {
    const tally = new TokenTally(true);
    tally.add({ tokens: 3, kl: 6, clippedLow: 1, clippedHigh: 0 }, 30);
    tally.add({ tokens: 1, kl: 0, clippedLow: 1, clippedHigh: 1 }, 2);
    tidy(() => {
      tally.compare(tensor([-1, -2, -3]), tensor([-1.5, -2, -3]));
      tally.compare(tensor([-1]), tensor([-0.75]));
    });
    expect(tally.means).toEqual({
      kl: 1.5,
      clippedLow: 0.5,
      clippedHigh: 0.25,
      entropy: 8,
      samplerGapMean: 0.75 / 4,
      samplerGapMax: 0.5,
    });
  });

  it('has no KL without a reference', () => {
    const tally = new TokenTally(false);
    tally.add({ tokens: 1, kl: 0, clippedLow: 0, clippedHigh: 0 }, 0);
    expect(tally.means).not.toHaveProperty('kl');
  });
});

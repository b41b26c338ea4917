import { tensor, tidy } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../config/index.js';
import { advantagesOf } from '../objective/index.js';
import type { Completion } from '../rollout/index.js';
import { Batch } from '../step/batch.js';
import { advantageSettings } from '../step/compare-rewards.js';
import { MetricTally } from '../step/metric-tally.js';
import { metricsOf } from './metrics.js';
import type { RecordedStep } from './step-recorder.js';

const settings = advantageSettings(
  resolveConfig({ command: 'train', settings: ['task.name=arithmetic'] }).config,
);

/** Two groups of two: lengths 2 (ended), 6 (cut), 3 (ended), 4 (ended, its reward missing). */
function stepResult(changes: Partial<RecordedStep> = {}): RecordedStep {
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
  const batch = new Batch({
    problems: [1, 2].map((i) => ({ prompt: '', row: { i } })),
    prompts: [],
    completions_B,
    rewardTable: {
      names: ['right', 'short'],
      weights: [1, 0],
      columns: [rewards_B, Float64Array.of(4, 4, 4, 4)],
      unscored: Uint8Array.of(0, 0, 0, 1),
      failures: [{ reward: 'right', index: 3, affected: 1, prompt: '', completion: '', reason: 'threw' }],
    },
  });
  batch.advantages = advantagesOf(batch.compared, 2, settings);
  return {
    batch,
    scored: new Map(),
    updates: [],
    probes: undefined,
    learningRate: 0.5,
    checksums: { policy: 5, optimizer: 6 },
    loss: -0.25,
    gradNorm: 3,
    metrics: { 'clip_ratio/low_mean': 0.1, entropy: 1.5 },
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
      // Two of three rewards are above 0.5, in groups of two.
      frac_reward_zero_std_expected: 5 / 9,
      'completions/mean_length': 3.75,
      'completions/min_length': 2,
      'completions/max_length': 6,
      'completions/clipped_ratio': 0.25,
      'completions/mean_terminated_length': 3,
      'completions/min_terminated_length': 2,
      'completions/max_terminated_length': 4,
      loss: -0.25,
      grad_norm: 3,
      learning_rate: 0.5,
      entropy: 1.5,
      'clip_ratio/low_mean': 0.1,
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

  it('count the micro-batches of all updates, and those that arrived', () => {
    const updates = [
      { microBatches: { configured: 3, executed: 3 } },
      { microBatches: { configured: 3, executed: 2 } },
    ];
    expect(metricsOf(stepResult({ updates }), 1, { tokens: 1, stepTokens: 1 })).toMatchObject({
      micro_steps: 6,
      'micro_steps/executed': 5,
    });
  });

  it('have the loss without its entropy bonus, as the mean of the updates', () => {
    const update = (policy: number, kl: number) => ({
      components: [
        { name: 'policy', coefficient: 1, value: policy },
        { name: 'kl', coefficient: 0.5, value: kl },
        { name: 'entropy', coefficient: -0.1, value: 7 },
      ],
    });
    const result = stepResult({ updates: [update(1, 2), update(3, 0)] });
    expect(metricsOf(result, 1, { tokens: 1, stepTokens: 1 }).policy_loss).toBeCloseTo((1 + 1 + 3) / 2, 12);
    expect(metricsOf(stepResult(), 1, { tokens: 1, stepTokens: 1 })).not.toHaveProperty('policy_loss');
  });

  it('have the checksums of the weights that sampled and that are left', () => {
    const metrics = (own: (number | undefined)[], reference?: number) => {
      const result = stepResult({ checksums: { policy: 5, optimizer: 6, reference } });
      for (const [b, weights] of own.entries())
        if (weights !== undefined) result.batch.completions_B[b]!.weights = weights;
      const row = metricsOf(result, 1, { tokens: 1, stepTokens: 1 });
      return ['sampler', 'policy', 'reference'].map((name) => row[`checksum/${name}`]);
    };
    expect(metrics([3, 3, 3, 3], 7)).toEqual([3, 5, 7]);
    expect(metrics([3, 3, 2, 3])).toEqual([2, 5, undefined]);
    expect(metrics([])).toEqual([undefined, 5, undefined]);
  });

  it('count the tokens that a masked-diffusion model hides', () => {
    const result = stepResult();
    const { batch } = result;
    const metrics = () => metricsOf(result, 1, { tokens: 1, stepTokens: 1 });
    expect(metrics()).not.toHaveProperty('masked_positions');
    // The first `places` of each region of 6 are hidden by two passes.
    const hiding = (places: number) => ({
      masks_B: batch.completions_B.map(({ ids }) => new Uint8Array(ids.length)),
      masked_B: batch.completions_B.map(() => {
        const region = Uint8Array.from({ length: 6 }, (_, t) => Number(t < places));
        const view = { prompt: new Uint8Array(0), region, weight: 0.5 };
        return { region: Array(6).fill(1), plan: [view, view] };
      }),
    });
    batch.iterations = [hiding(6), hiding(3)];
    // 2 + 6 + 3 + 4 of 15 tokens, then 2 + 3 + 3 + 3.
    expect(metrics()).toMatchObject({ masked_positions: 13, 'masked_positions/share': 13 / 15 });
  });

  it('have what the loss tells of itself', () => {
    const row = metricsOf(stepResult({ metrics: { kl: 0 } }), 1, { tokens: 1, stepTokens: 1 });
    expect(row.kl).toBe(0);
  });
});

describe('a tally', () => {
  const share = (sum: number, of: number) => ({ sum, of });

  it('weighs micro-batches by what they count', () => {
    const tally = new MetricTally();
    tally.add({ means: { kl: share(6, 3), clipped: share(1, 2) }, least: { low: 0.5 }, most: { high: 0 } });
    tally.add({ means: { kl: share(0, 1), clipped: share(2, 2) }, least: { low: 0.25 }, most: { high: 1 } });
    tidy(() => {
      tally.compare(tensor([-1, -2, -3]), tensor([-1.5, -2, -3]));
      tally.compare(tensor([-1]), tensor([-0.75]));
      tally.compare(tensor([-1, -1]), tensor([-1, -0.5]), 'one:8000');
    });
    expect(tally.values).toEqual({
      kl: 1.5,
      clipped: 0.75,
      low: 0.25,
      high: 1,
      'sampling/sampling_logp_difference/mean': 0.75 / 4,
      'sampling/sampling_logp_difference/max': 0.5,
      'sampling/token_mult_prob_error': expect.closeTo((2 + Math.exp(0.5) + Math.exp(0.25)) / 4, 6),
      'sampling/sampling_logp_difference/mean/one:8000': 0.25,
      'sampling/sampling_logp_difference/max/one:8000': 0.5,
      'sampling/token_mult_prob_error/one:8000': expect.closeTo((1 + Math.exp(0.5)) / 2, 6),
    });
  });

  it('leaves out what nothing was counted of', () => {
    const tally = new MetricTally();
    tally.add({ means: { kl: share(0, 0) }, least: { low: Number.POSITIVE_INFINITY } });
    expect(tally.values).toEqual({});
  });
});

import { readFileSync } from 'node:fs';
import type { Tensor } from '@grpo/torch';
import { namedLosses } from '../config/loss-names.js';
import { tensor } from '../device.test.helper.js';
import { PLAIN } from './batch.test.helper.js';
import type { LossInput } from './loss-types.js';
import type { LossSettings } from './settings.js';

/** A loss in TRL's terms, with the numbers that TRL's own code gives in float64 (`parity/make_objective_fixtures.py`). */
export interface LossCase {
  name: string;
  loss_type: 'grpo' | 'dapo' | 'bnpo' | 'dr_grpo' | 'cispo' | 'sapo' | 'vespo' | 'luspo';
  trainer: string;
  training: boolean;
  importance_sampling_level: 'token' | 'sequence' | 'sequence_token';
  epsilon: number;
  epsilon_high: number;
  delta: number | null;
  beta: number;
  use_bias_correction_kl: boolean;
  top_entropy_quantile: number;
  entropy_coef: number;
  off_policy_mask_threshold: number | null;
  vllm_importance_sampling_mode: `${'token' | 'sequence'}_${'truncate' | 'mask'}` | null;
  vllm_importance_sampling_clip_min: number | null;
  vllm_importance_sampling_clip_max: number | null;
  sapo_temperature_pos: number;
  sapo_temperature_neg: number;
  vespo_k_pos: number;
  vespo_lambda_pos: number;
  vespo_k_neg: number;
  vespo_lambda_neg: number;
  max_completion_length: number;
  current_gradient_accumulation_steps: number;
  steps_per_generation: number;
  num_items_in_batch: number;
  /** Padded rows `[B, C]`, as all that follows. */
  logps: number[][];
  oldLogps: number[][] | null;
  refLogps: number[][] | null;
  samplingLogps: (number | null)[][] | null;
  entropies: number[][];
  completionMask: number[][];
  mask: number[][];
  advantages: number[];
  expectedLoss: number;
  expectedGradient: number[][];
  expectedEntropyGradient: number[][] | null;
  expectedMetrics: Record<string, number>;
}

export interface AdvantageCase {
  name: string;
  dtype: 'float32' | 'float64';
  scale_rewards: 'group' | 'batch' | 'none';
  multi_objective_aggregation: 'sum_then_normalize' | 'normalize_then_sum';
  num_generations: number;
  reward_weights: number[];
  rewardsPerFunction: (number | null)[][];
  expectedAdvantages: number[];
  expectedMetrics: Record<string, number>;
}

export const fixtures = JSON.parse(
  readFileSync(new URL('../../../../parity/fixtures/objective.json', import.meta.url), 'utf8'),
) as { cases: LossCase[]; advantageCases: AdvantageCase[] };

/** Values of padded rows without the padding, row after row. */
export function unpadded<V>(rows: readonly V[][], { completionMask }: LossCase): V[] {
  return rows.flatMap((row, b) => row.filter((_, t) => completionMask[b]![t] === 1));
}

/** Input of our loss for a case, in float64. */
export function lossInput(c: LossCase): LossInput {
  const wide = (rows: (number | null)[][]) =>
    tensor(Float64Array.from(unpadded(rows, c), (value) => value ?? Number.NaN));
  const logprobs_T = wide(c.logps);
  const entropies_T = wide(c.entropies);
  logprobs_T.requiresGrad = true;
  entropies_T.requiresGrad = c.entropy_coef !== 0;
  const windows = c.training ? c.current_gradient_accumulation_steps : 1;
  const share = c.training ? windows / c.steps_per_generation : 1;
  const given = (rows: (number | null)[][] | null): Tensor | null => rows && wide(rows);
  return {
    logprobs_T,
    entropies_T,
    oldLogprobs_T: given(c.oldLogps),
    referenceLogprobs_T: given(c.refLogps),
    samplerLogprobs_T: given(c.samplingLogps),
    fullKl_T: null,
    advantages: c.advantages,
    lengths: c.completionMask.map((row) => row.reduce((a, b) => a + b, 0)),
    mask: Uint8Array.from(unpadded(c.mask, c)),
    update: { completions: c.advantages.length * windows, tokens: c.num_items_in_batch * share },
    betas: c.advantages.map(() => c.beta),
    entropyCoefficient: c.entropy_coef,
    settings: settingsOf(c),
  };
}

function settingsOf(c: LossCase): LossSettings {
  const parts = namedLosses[c.loss_type];
  const [level, action] = (c.vllm_importance_sampling_mode?.split('_') ?? []) as [
    'token' | 'sequence',
    'truncate' | 'mask',
  ];
  return {
    ...PLAIN,
    policy: c.trainer === 'experimental.gmpo' ? 'gmpo' : parts.policy,
    ratio: c.importance_sampling_level,
    aggregation: parts.aggregation,
    normalizer: c.max_completion_length,
    clipLow: c.epsilon,
    clipHigh: c.epsilon_high,
    delta: c.delta ?? undefined,
    cap: c.epsilon_high,
    slopePositive: c.sapo_temperature_pos,
    slopeNegative: c.sapo_temperature_neg,
    vespoPositive: [c.vespo_k_pos, c.vespo_lambda_pos],
    vespoNegative: [c.vespo_k_neg, c.vespo_lambda_neg],
    kl: { ...PLAIN.kl, biasCorrected: c.use_bias_correction_kl },
    entropy: { ...PLAIN.entropy, topShare: c.top_entropy_quantile },
    offPolicyThreshold: c.off_policy_mask_threshold ?? undefined,
    correction: c.vllm_importance_sampling_mode
      ? {
          ...PLAIN.correction,
          level,
          action,
          min: c.vllm_importance_sampling_clip_min ?? undefined,
          max: c.vllm_importance_sampling_clip_max ?? undefined,
        }
      : PLAIN.correction,
    compat: 'trl',
  };
}

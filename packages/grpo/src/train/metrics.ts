import { memory } from '@grpo/torch';
import { statistics } from '../objective/index.js';
import type { StepResult } from './step.js';

/** A row of `metrics.jsonl`. Names are TRL's where TRL has the quantity. */
export type MetricsRow = { step: number; [name: string]: number };

/**
 * The metrics of a step.
 *
 * @param tokens - prompt and completion tokens of the run so far, and of this step
 * @param seconds - of the whole step
 */
export function metricsOf(
  result: StepResult,
  step: number,
  { tokens, stepTokens }: { tokens: number; stepTokens: number },
  seconds: number,
): MetricsRow {
  const { rollout, means } = result;
  const { rewardTable, advantages, completions_B } = rollout;
  const lengths = completions_B.map((c) => c.ids.length);
  const ended = completions_B.filter((c) => c.finishReason === 'stop').map((c) => c.ids.length);
  const reward = statistics(rollout.rewards_B);
  const row: MetricsRow = {
    step,
    reward: reward.mean,
    reward_std: reward.deviation,
    frac_reward_zero_std: advantages.zeroVariance,
    'completions/mean_length': mean(lengths),
    'completions/min_length': Math.min(...lengths),
    'completions/max_length': Math.max(...lengths),
    'completions/clipped_ratio': 1 - ended.length / lengths.length,
    'completions/mean_terminated_length': ended.length > 0 ? mean(ended) : 0,
    loss: result.loss,
    grad_norm: result.gradNorm,
    learning_rate: result.learningRate,
    entropy: means.entropy,
    'clip_ratio/low_mean': means.clippedLow,
    'clip_ratio/high_mean': means.clippedHigh,
    'sampling/sampling_logp_difference/mean': means.samplerGapMean,
    'sampling/sampling_logp_difference/max': means.samplerGapMax,
    num_tokens: tokens,
    step_tokens: stepTokens,
    step_time: seconds,
    reward_failures: rewardTable.failures.length,
    live_tensors: memory().tensors,
    live_bytes: memory().bytes,
  };
  if (means.kl !== undefined) row.kl = means.kl;
  for (const [k, name] of rewardTable.names.entries()) {
    const { mean: m, deviation } = statistics(rewardTable.columns[k]!);
    row[`rewards/${name}/mean`] = m;
    row[`rewards/${name}/std`] = deviation;
  }
  for (const [stage, time] of Object.entries(result.seconds)) row[`seconds/${stage}`] = time;
  return row;
}

const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;

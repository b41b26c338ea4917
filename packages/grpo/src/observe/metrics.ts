import { mean, sum } from '../maths/moments.js';
import { isEstimated, type MaskPlan, statistics } from '../objective/index.js';
import { partColumns } from '../rewards/index.js';
import type { Batch, Exchange } from '../step/batch.js';
import { groupsOf } from '../step/groups.js';
import { kindsOf } from '../step/kinds.js';
import { expectedFlat, kindMetrics, signalMetrics } from './kind-metrics.js';
import type { RecordedStep } from './step-recorder.js';

/** A row of `metrics.jsonl`, a function of settings and seed alone. Names are TRL's where TRL has the quantity. */
export type MetricsRow = { step: number; step_tokens: number; [name: string]: number };

/**
 * The metrics of a step.
 *
 * @param tokens - prompt and completion tokens of the run so far, and of this step
 * @param kindKey - `kl.kindKey`
 */
export function metricsOf(
  result: RecordedStep,
  step: number,
  { tokens, stepTokens, kindKey }: { tokens: number; stepTokens: number; kindKey?: string | undefined },
): MetricsRow {
  const { klPenalties_B, exchange, problems } = result.batch;
  const own = exchange?.own ?? result.batch;
  const kinds_P = kindsOf(own.problems, kindKey);
  return {
    step,
    ...rolloutMetrics(result.batch),
    frac_reward_zero_std_expected: expectedFlat(own, kinds_P),
    ...kindMetrics(own, kinds_P),
    ...signalMetrics(result.batch, kindsOf(problems, kindKey)),
    ...maskedMetrics(result.batch),
    ...(klPenalties_B && { kl_penalty: mean([...klPenalties_B]) }),
    loss: result.loss,
    ...policyLossOf(result),
    grad_norm: result.gradNorm,
    ...microStepsOf(result),
    learning_rate: result.learningRate,
    ...result.metrics,
    ...checksumsOf(result),
    num_tokens: tokens,
    step_tokens: stepTokens,
  };
}

/**
 * What can be told of a step's completions before anything is learnt from them. Where groups gave way to others, it is
 * told of those of the step's own problems, or a run that refills would look better than it is.
 */
export function rolloutMetrics(batch: Batch): Record<string, number> {
  const { exchange } = batch;
  const { rewards_B, rewardTable, completions_B } = exchange?.own ?? batch;
  const lengths = completions_B.map((c) => c.ids.length);
  const ended = completions_B.filter((c) => c.finishReason === 'stop').map((c) => c.ids.length);
  const reward = statistics(rewards_B);
  const row: Record<string, number> = {
    reward: reward.mean,
    reward_std: reward.deviation,
    frac_reward_zero_std: exchange ? equalShare(exchange.own) : batch.advantages.zeroVariance,
    'completions/mean_length': mean(lengths),
    'completions/min_length': Math.min(...lengths),
    'completions/max_length': Math.max(...lengths),
    'completions/clipped_ratio': 1 - ended.length / lengths.length,
    'completions/mean_terminated_length': ended.length > 0 ? mean(ended) : 0,
    'completions/min_terminated_length': ended.length > 0 ? Math.min(...ended) : 0,
    'completions/max_terminated_length': ended.length > 0 ? Math.max(...ended) : 0,
    reward_failures: batch.rewardTable.failures.length,
    ...(exchange && exchangeMetrics(exchange)),
  };
  for (const [k, name] of rewardTable.names.entries()) {
    const { mean: m, deviation } = statistics(rewardTable.columns[k]!);
    row[`rewards/${name}/mean`] = m;
    row[`rewards/${name}/std`] = deviation;
  }
  for (const { reward: name, part, values } of partColumns(rewardTable))
    row[`rewards/${name}/${part}/mean`] = statistics(values).mean;
  return row;
}

/** Of a masked-diffusion model: tokens whose log-probs some pass estimates, per iteration, and their share of all. */
function maskedMetrics({ trained, iterations }: Batch): Record<string, number> {
  const hidden = iterations.flatMap(({ masked_B }) =>
    masked_B
      ? sum(masked_B.map(({ plan }, b) => countEstimated(plan, trained.completions_B[b]!.ids.length)))
      : [],
  );
  if (hidden.length === 0) return {};
  const tokens = sum(trained.completions_B.map(({ ids }) => ids.length));
  return { masked_positions: mean(hidden), 'masked_positions/share': mean(hidden) / tokens };
}

const countEstimated = (plan: MaskPlan, tokens: number): number =>
  sum(Array.from({ length: tokens }, (_, t) => Number(isEstimated(plan, t))));

/** Of the weights that sampled, and of those that the step leaves. */
function checksumsOf({ batch, checksums }: RecordedStep): Record<string, number> {
  const isOwn = (b: number) => !batch.exchange?.replayed.has(batch.problemOf(b));
  const sampled = batch.completions_B.flatMap(({ weights }, b) => (isOwn(b) ? (weights ?? []) : []));
  const { policy, reference } = checksums;
  return {
    // One that differs from the others shows.
    ...(sampled.length > 0 && {
      'checksum/sampler': sampled.find((own) => own !== sampled[0]) ?? sampled[0]!,
    }),
    'checksum/policy': policy,
    ...(reference !== undefined && { 'checksum/reference': reference }),
  };
}

const exchangeMetrics = ({ sampled, refilled, replayed, flat }: Exchange) => ({
  groups_sampled: sampled,
  groups_refilled: refilled,
  groups_replayed: replayed.size,
  groups_flat: flat.length,
});

/** Share of the groups whose rewards are all equal. */
function equalShare(own: Batch): number {
  const equal = groupsOf(own).map(({ rewards_B }) => Number(statistics(rewards_B).equal));
  return mean(equal);
}

/** Micro-batches of the step's updates, and those of them whose gradient arrived. */
function microStepsOf({ updates }: RecordedStep): Record<string, number> {
  const counts = updates.flatMap(({ microBatches }) => microBatches ?? []);
  return {
    micro_steps: sum(counts.map(({ configured }) => configured)),
    'micro_steps/executed': sum(counts.map(({ executed }) => executed)),
  };
}

/** The loss without its entropy bonus, where it has one; as TRL names it. */
function policyLossOf({ updates }: RecordedStep): { policy_loss?: number } {
  const parts = updates.flatMap(({ components }) => components ?? []);
  if (!parts.some(({ name }) => name === 'entropy')) return {};
  const others = parts.filter(({ name }) => name !== 'entropy');
  return {
    policy_loss:
      others.reduce((sum, { coefficient, value }) => sum + coefficient * value, 0) / updates.length,
  };
}

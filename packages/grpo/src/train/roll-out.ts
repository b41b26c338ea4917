import type { Config } from '../config/schema.js';
import type { RewardColumns } from '../objective/index.js';
import { Watch } from '../progress/watch.js';
import { totals, withOverlong } from '../rewards/index.js';
import type { Completion } from '../rollout/index.js';
import type { Problem } from '../tasks/task.js';
import type { Rollout, Sampled } from './batch.js';
import type { Drawn } from './drawn.js';
import { exchangeFlat } from './exchange.js';
import { advantageSettings } from './loss-settings.js';
import type { Stopwatch } from './stopwatch.js';
import type { Trainer } from './trainer.js';

/** Everything before the comparison: render, sample and score, and let groups without a difference give way. */
export async function rollOut(
  trainer: Trainer,
  problems: readonly Problem[],
  step: number,
  clock: Stopwatch,
): Promise<Sampled> {
  const { stages, model, config } = trainer;
  const draw = (wanted: readonly Problem[], place: number) => drawGroups(trainer, wanted, step, place, clock);
  const { drawn, exchange } = await exchangeFlat(trainer, await draw(problems, 0), step, draw);
  const { prompts, completions_B } = drawn;
  const trained = stages.assemble(model, { prompts, completions_B });
  const masks_B = trained.completions_B.map(({ ids }, b) =>
    new Uint8Array(ids.length).fill(isTrained(completions_B[b]!, config.objective) ? 1 : 0),
  );
  return { ...drawn, trained, masks_B, ...(exchange && { exchange }) };
}

/**
 * Samples and scores a group of each problem.
 *
 * @param place - of the first among all groups of the step: no two draw alike
 */
async function drawGroups(
  { stages, model, task, config, sampling, watch = new Watch() }: Trainer,
  problems: readonly Problem[],
  step: number,
  place: number,
  clock: Stopwatch,
): Promise<Drawn> {
  const { rollout, groups: settings, onRewardError, seed } = config;
  const prompts = clock.time('render', () => stages.render(model, problems));
  const requests = prompts.map(({ ids }, p) => ({ ids, count: rollout.group, keys: [step, place + p] }));
  const groups = await clock.timeAsync('sample', () => stages.sample(model, requests, sampling, seed, watch));
  const completions_B = groups.flat();
  const scoring = { stage: 'scoring', done: 0, total: completions_B.length, unit: 'completions' };
  const scored = await clock.timeAsync('score', () =>
    watch.until(scoring, () => stages.score(task, problems, groups, onRewardError)),
  );
  const lengths = completions_B.map(({ ids }) => ids.length);
  const buffer = settings.overlongBuffer;
  const rewardTable =
    buffer === 0 ? scored : withOverlong(scored, lengths, { maxTokens: rollout.maxNewTokens, buffer });
  return { problems, prompts, completions_B, rewardTable, rewards_B: totals(rewardTable) };
}

/**
 * Compares the rewards of each group.
 *
 * @param klPenalties_B - taken from the rewards; these stay what they are
 */
export function withAdvantages(
  { stages, config }: Trainer,
  sampled: Sampled,
  klPenalties_B?: Float64Array,
): Rollout {
  const compared = comparedRewards({ ...sampled, klPenalties_B });
  const advantages = stages.advantage(compared, config.rollout.group, advantageSettings(config));
  return { ...sampled, klPenalties_B, advantages };
}

/** What is compared: the rewards, and as one more the penalties. */
export function comparedRewards({
  rewardTable: { names, columns, weights },
  rewards_B,
  klPenalties_B,
}: Omit<Rollout, 'advantages'>): RewardColumns & { names: readonly string[] } {
  if (!klPenalties_B) return { names, columns, weights, totals: rewards_B };
  return {
    names: [...names, 'kl_penalty'],
    columns: [...columns, klPenalties_B],
    weights: [...weights, -1],
    totals: rewards_B.map((reward, b) => reward - klPenalties_B[b]!),
  };
}

const isTrained = ({ finishReason }: Completion, { maskTruncated }: Config['objective']) =>
  !(maskTruncated && finishReason === 'length');

import type { Config } from '../config/schema.js';
import type { Advantages } from '../objective/index.js';
import { type RewardTable, totals } from '../rewards/index.js';
import type { Completion } from '../rollout/index.js';
import type { Problem } from '../tasks/task.js';
import type { RenderedPrompt } from '../text/render.js';
import { advantageSettings } from './loss-settings.js';
import type { Groups } from './micro-batch.js';
import type { Stopwatch } from './stopwatch.js';
import type { Trainer } from './trainer.js';

/** What the policy made of a step's problems: P prompts, B = P × G completions, prompt after prompt. */
export interface Rollout {
  problems: readonly Problem[];
  prompts: RenderedPrompt[];
  completions_B: Completion[];
  /** The ids of both that are scored and trained on. */
  trained: Groups;
  rewardTable: RewardTable;
  /** Weighted sums; NaN where a completion could not be scored. */
  rewards_B: Float64Array;
  advantages: Advantages;
  /** 1 where a token of `trained` enters the loss, completion by completion. */
  masks_B: Uint8Array[];
}

/** Everything before the update: render, sample, score, and compare within each group. */
export async function rollOut(
  { stages, model, task, config, sampling }: Trainer,
  problems: readonly Problem[],
  step: number,
  clock: Stopwatch,
): Promise<Rollout> {
  const { rollout, objective, onRewardError, seed } = config;
  const prompts = clock.time('render', () => stages.render(model, problems));
  const requests = prompts.map(({ ids }, p) => ({ ids, count: rollout.group, keys: [step, p] }));
  const groups = await clock.timeAsync('sample', () => stages.sample(model, requests, sampling, seed));
  const completions_B = groups.flat();
  const trained = stages.assemble(model, { prompts, completions_B });
  const rewardTable = await clock.timeAsync('score', () =>
    stages.score(task, problems, groups, onRewardError),
  );
  const rewards_B = totals(rewardTable);
  const columns = { ...rewardTable, totals: rewards_B };
  const advantages = stages.advantage(columns, rollout.group, advantageSettings(config));
  const masks_B = trained.completions_B.map(({ ids }, b) =>
    new Uint8Array(ids.length).fill(isTrained(completions_B[b]!, objective) ? 1 : 0),
  );
  return { problems, prompts, completions_B, trained, rewardTable, rewards_B, advantages, masks_B };
}

const isTrained = ({ finishReason }: Completion, { maskTruncated }: Config['objective']) =>
  !(maskTruncated && finishReason === 'length');

/** Tokens of a rollout as TRL counts them: a prompt once for each of its completions. */
export function tokensOf({ prompts, completions_B }: Rollout): number {
  const group = completions_B.length / prompts.length;
  return completions_B.reduce(
    (sum, { ids }, b) => sum + ids.length + prompts[Math.floor(b / group)]!.ids.length,
    0,
  );
}

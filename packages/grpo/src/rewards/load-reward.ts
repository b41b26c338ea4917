/** From settings to a reward: a user's module, loaded at run time without a build, a built-in, a model, or a judge. */
import { resolve } from 'node:path';
import { rewardName } from '../config/reward-kinds.js';
import type { RewardEntry } from '../config/schema.js';
import type { JudgeSettings } from '../config/sections/judge.js';
import { UserError } from '../errors/user-error.js';
import { readWhole } from '../formats/read-file.js';
import { decodeUtf8 } from '../formats/utf8.js';
import { builtinReward } from './builtin/index.js';
import { composeReward } from './compose-reward.js';
import { Judge } from './judge/judge.js';
import type { Reward, RewardFunction } from './reward.js';
import { loadRewardFunction } from './user-code/load-function.js';
import { RewardWorker } from './user-code/reward-worker.js';

/** A reward that may own a worker thread or a model, which disposing ends. */
export interface LoadedReward extends Reward, Disposable {}

/** No model reads a longer one. */
const MAX_PROMPT_BYTES = 2 ** 20;

/** Surroundings that a reward is loaded in, beside its own settings. */
export interface RewardSurroundings {
  /** Seed of a judge's draws. */
  seed?: number;
  /** Name of the task: a cache keeps the verdicts of tasks apart. */
  task?: string;
  /** `task.answerKey`. */
  answerKey?: string;
  /** Loads a reward model: given by those who have a tensor engine. */
  openModel?(model: string): RewardFunction & Partial<Disposable>;
}

/**
 * Loads a reward. A module exports, as default or as `reward`, a {@link RewardFunction}: it takes a batch
 * and returns one value per completion. `each` makes one of a function of a single completion.
 * With `timeoutSeconds` the module is loaded in a worker thread, and only there.
 *
 * @param config - its module is a path, absolute or from the working directory
 * @throws UserError when the module or the model cannot be loaded, or the module exports no function
 */
export async function loadReward(
  config: RewardEntry,
  surroundings: RewardSurroundings = {},
): Promise<LoadedReward> {
  const { answerKey = 'answer', openModel } = surroundings;
  const { module, builtin, model, judge, weight, components, tiers, tierKey = 'tier' } = config;
  const named = { name: rewardName(config), weight };
  if (builtin !== undefined) {
    const score = builtinReward(builtin, config, answerKey);
    return { ...named, isStateless: true, score, [Symbol.dispose]: () => undefined };
  }
  if (model !== undefined) {
    if (!openModel)
      throw new UserError(`the reward model ${model} needs the tensor engine, which is not used here`);
    const score = openModel(model);
    return { ...named, score, [Symbol.dispose]: () => score[Symbol.dispose]?.() };
  }
  const owned = judge
    ? await loadJudge(judge, surroundings)
    : await loadModule(resolve(module!), config.timeoutSeconds);
  const isComposed = components !== undefined || tiers !== undefined;
  const score = isComposed ? composeReward(owned.score, { components, tiers, tierKey }) : owned.score;
  return { ...named, score, [Symbol.dispose]: () => owned[Symbol.dispose]() };
}

/** A judge, whose prompt is a file. */
async function loadJudge(
  settings: JudgeSettings,
  { seed = 0, task = '' }: RewardSurroundings,
): Promise<{ score: RewardFunction } & Disposable> {
  const path = resolve(settings.prompt);
  const what = `the judge's prompt ${path}`;
  const prompt = decodeUtf8(path, what, readWhole(path, what, MAX_PROMPT_BYTES));
  const judge = await Judge.open({ ...settings, prompt, seed, task }, what);
  return { score: judge.batch, [Symbol.dispose]: () => judge[Symbol.dispose]() };
}

/** The function of a module, in this thread, or with a time limit in one of its own. */
async function loadModule(
  path: string,
  seconds: number | undefined,
): Promise<{ score: RewardFunction } & Disposable> {
  if (seconds !== undefined) return RewardWorker.start(path, seconds);
  return { score: await loadRewardFunction(path), [Symbol.dispose]: () => undefined };
}

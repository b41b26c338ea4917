/** A user's reward: a TypeScript or JavaScript module, loaded at run time without a build. */
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UserError } from '../config/errors.js';
import { rewardName } from '../config/rules.js';
import type { RewardModule } from '../config/schema.js';
import { describeExports, importModule } from './import-module.js';
import type { Reward, RewardFunction } from './reward.js';
import { RewardWorker } from './reward-worker.js';

/** A reward that may own a worker thread, which disposing ends. */
export interface LoadedReward extends Reward, Disposable {}

const EXAMPLE = `The module's default export (or an export named "reward") scores a batch, one number or null a completion:
  import { each } from 'grpo/rewards';
  export default each((completion, row) => (completion.includes(String(row.answer)) ? 1 : 0));`;

/**
 * Loads a user's reward. Its module exports, as default or as `reward`, a {@link RewardFunction}: it takes a batch
 * and returns one number or null a completion. `each` makes one of a function of a single completion.
 * With `timeoutSeconds` the module is loaded in a worker thread, and only there.
 *
 * @param config - its module is a path, absolute or from the working directory
 * @throws UserError when the module cannot be loaded or exports no function
 */
export async function loadReward(config: RewardModule): Promise<LoadedReward> {
  const path = resolve(config.module);
  const { weight, timeoutSeconds } = config;
  const named = { name: rewardName(config), weight };
  if (timeoutSeconds === undefined) {
    return { ...named, score: await loadRewardFunction(path), [Symbol.dispose]: () => undefined };
  }
  const worker = await RewardWorker.start(path, timeoutSeconds);
  return { ...named, score: worker.score, [Symbol.dispose]: () => worker[Symbol.dispose]() };
}

/** Loads the reward function of the module at an absolute path, in this thread. */
export async function loadRewardFunction(path: string): Promise<RewardFunction> {
  // It is this copy, and it does not load the tensor engine.
  const alias = { 'grpo/rewards': fileURLToPath(new URL('./index.js', import.meta.url)) };
  const exported = await importModule('reward module', path, { alias });
  const score = exported.default ?? exported.reward;
  if (typeof score !== 'function') {
    throw new UserError(
      `reward module ${path} exports no reward function; it exports ${describeExports(exported)}`,
      { hint: EXAMPLE },
    );
  }
  return score as RewardFunction;
}

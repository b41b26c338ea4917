/** A user's reward: a TypeScript or JavaScript module, loaded at run time without a build. */
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createJiti } from 'jiti';
import { UserError } from '../config/errors.js';
import { rewardName } from '../config/rules.js';
import type { RewardModule } from '../config/schema.js';
import { fileError } from '../formats/file-error.js';
import { describeError } from './describe-error.js';
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
  try {
    await stat(path);
  } catch (cause) {
    const refused = fileError('read', path, cause);
    throw new UserError(`reward module: ${refused instanceof Error ? refused.message : refused}`, { cause });
  }
  const jiti = createJiti(import.meta.url, {
    // The user's folder stays as it was, and an edited file is never taken from a cache.
    fsCache: false,
    interopDefault: false,
    // A module outside any npm project can import it, and it is this copy. It does not load the tensor engine.
    alias: { 'grpo/rewards': fileURLToPath(new URL('./index.js', import.meta.url)) },
  });
  let exported: Record<string, unknown>;
  try {
    exported = await jiti.import<Record<string, unknown>>(path);
  } catch (cause) {
    throw new UserError(`reward module ${path} cannot be loaded: ${describeLoadError(cause)}`, { cause });
  }
  const score = exported.default ?? exported.reward;
  if (typeof score !== 'function') {
    const names = Object.keys(exported).sort();
    const found =
      names.length === 0 ? 'nothing' : names.map((key) => `${key} (${typeof exported[key]})`).join(', ');
    throw new UserError(`reward module ${path} exports no reward function; it exports ${found}`, {
      hint: EXAMPLE,
    });
  }
  return score as RewardFunction;
}

/** A syntax error carries its own place, on a line of its own; anything else was thrown by the module. */
function describeLoadError(error: unknown): string {
  const syntax =
    error instanceof Error ? /^ParseError: (.*?)\s+(\S+:\d+:\d+)\s*$/s.exec(error.message) : null;
  if (syntax) return `${syntax[1]} (${syntax[2]})`;
  // The first line only: Node lists jiti's own files as those that required a missing one.
  if (error instanceof Error && 'code' in error) return error.message.split('\n')[0]!;
  return describeError(error);
}

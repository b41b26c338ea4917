/** The rewards of `rewards: [{builtin: NAME}]`. */
import type { RewardEntry } from '../../config/schema.js';
import type { BuiltinReward } from '../../config/sections/rewards.js';
import type { RewardFunction } from '../reward.js';
import { accuracy } from './accuracy.js';
import { cosineLength } from './cosine-length.js';
import { overlong } from './overlong.js';
import { repetition } from './repetition.js';
import { thinkFormat } from './think-format.js';

/**
 * The function of a built-in reward, with the settings that `config/reward-kinds.ts` allows it.
 *
 * @param answerKey - `task.answerKey`
 */
export function builtinReward(
  builtin: BuiltinReward,
  settings: RewardEntry,
  answerKey: string,
): RewardFunction<unknown> {
  const { maxTokens = 0, buffer = 0 } = settings;
  switch (builtin) {
    case 'think-format':
      return thinkFormat();
    case 'accuracy':
      return accuracy(answerKey);
    case 'cosine-length':
      return cosineLength({ ...settings, maxTokens }, answerKey);
    case 'repetition':
      return repetition(settings);
    case 'overlong':
      return overlong({ maxTokens, buffer });
  }
}

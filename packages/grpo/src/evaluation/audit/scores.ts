import { worstOf } from '../../audit/worst.js';
import { mean } from '../../maths/moments.js';
import type { Comparison } from '../../trace/index.js';
import type { EvalCompletion } from '../eval-completion.js';
import type { EvalAuditContext } from './context.js';

/** Sums of the same numbers in another order. */
const ROUNDING = 1e-9;

/** Accuracy and mean reward of each way of decoding beside those of its completions. */
export function compareScores({ result }: EvalAuditContext): Comparison[] {
  const { greedy, sampled, completions } = result;
  const ways = [['greedy', greedy] as const, ...(sampled ? [['sampled', sampled] as const] : [])];
  return ways.flatMap(([decoding, score]) => {
    const own = completions.filter((one) => one.decoding === decoding);
    const compare = (quantity: string, found: number | null, plain: number | null) => {
      // NaN stands for a score that one of the two lacks.
      const bound = ROUNDING * Math.max(1, Math.abs(plain ?? 1));
      const pair = { found: found ?? Number.NaN, plain: plain ?? Number.NaN, bound, compared: own.length };
      return found === null && plain === null
        ? []
        : worstOf('evaluation', `${quantity} of the ${decoding} completions`, [pair]);
    };
    const accuracy = own.every(({ correct }) => correct === null)
      ? null
      : mean(own.map(({ correct }) => Number(correct)));
    return [
      ...compare('accuracy', score.accuracy, accuracy),
      ...compare('mean reward', score.reward, meanReward(own)),
    ];
  });
}

/** The mean over problems of the mean over their completions that have a reward. */
function meanReward(completions: readonly EvalCompletion[]): number | null {
  const rewards = new Map<number, number[]>();
  for (const { problem, reward } of completions)
    if (reward !== null) rewards.set(problem, [...(rewards.get(problem) ?? []), reward]);
  return rewards.size > 0 ? mean([...rewards.values()].map(mean)) : null;
}

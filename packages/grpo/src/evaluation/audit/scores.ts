import { worstOf } from '../../audit/worst.js';
import { mean } from '../../maths/moments.js';
import type { Comparison } from '../../trace/index.js';
import type { EvalCompletion } from '../eval-completion.js';
import type { EvalAuditContext } from './context.js';

/** Sums of the same numbers in another order. */
const ROUNDING = 1e-9;

/** Holds the scores of each way of decoding to its completions. */
export function compareScores({ result }: EvalAuditContext): Comparison[] {
  const { greedy, sampled, completions, passAtK = {} } = result;
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
    const lengthOf = (some: readonly EvalCompletion[]) =>
      some.length === 0 ? null : mean(some.map(({ ids }) => ids.length));
    const isKnown = accuracy !== null;
    return [
      ...compare('accuracy', score.accuracy, accuracy),
      ...compare('mean reward', score.reward, meanReward(own)),
      ...compare('mean length', score.meanLength, lengthOf(own)),
      ...compare(
        'share that was cut',
        score.truncated,
        mean(own.map(({ finishReason }) => Number(finishReason === 'length'))),
      ),
      ...(isKnown
        ? [
            ...compare(
              'mean length of the right',
              score.right?.meanLength ?? null,
              lengthOf(own.filter(isRight)),
            ),
            ...compare(
              'mean length of the wrong',
              score.wrong?.meanLength ?? null,
              lengthOf(own.filter((one) => !isRight(one))),
            ),
          ]
        : []),
      ...(decoding === 'sampled'
        ? Object.entries(passAtK).flatMap(([k, { mean: share }]) =>
            compare(`pass@${k}`, share, meanPassed(own, Number(k))),
          )
        : []),
    ];
  });
}

const isRight = ({ correct }: EvalCompletion) => correct === true;

/** The mean over problems of the chance that k of their completions hold a right one: 1 − C(n − k, c) / C(n, c). */
function meanPassed(completions: readonly EvalCompletion[], k: number): number {
  const groups = new Map<number, EvalCompletion[]>();
  for (const one of completions) groups.set(one.problem, [...(groups.get(one.problem) ?? []), one]);
  const chances = [...groups.values()].map((group) => {
    const n = group.length;
    return 1 - group.filter(isRight).reduce((none, _, j) => (none * Math.max(0, n - k - j)) / (n - j), 1);
  });
  return mean(chances);
}

/** The mean over problems of the mean over their completions that have a reward. */
function meanReward(completions: readonly EvalCompletion[]): number | null {
  const rewards = new Map<number, number[]>();
  for (const { problem, reward } of completions)
    if (reward !== null) rewards.set(problem, [...(rewards.get(problem) ?? []), reward]);
  return rewards.size > 0 ? mean([...rewards.values()].map(mean)) : null;
}

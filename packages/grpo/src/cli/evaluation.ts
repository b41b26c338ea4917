import { describeFailures } from '../rewards/index.js';
import type { EvalResult } from '../train/index.js';

/**
 * One line a evaluation, `accuracy before, 200 problems: greedy 31.0% (25.0–37.7%), …; sampled …`; where the task cannot
 * tell right from wrong, `reward before, 200 problems: greedy 0.512 (0.480–0.544), …`. Failed rewards follow on lines of
 * their own.
 */
export function formatEvaluation(label: string, result: EvalResult): string {
  const { greedy, sampled, problems, failures } = result;
  const measure = greedy.accuracy === null ? 'reward' : 'accuracy';
  const value = greedy.accuracy === null ? meanReward : accuracy;
  const score = (name: string, s: EvalResult['greedy']) =>
    `${name} ${value(s)}, length ${s.meanLength.toFixed(1)}, cut ${percent(s.truncated)}`;
  const parts = [score('greedy', greedy), ...(sampled ? [score('sampled', sampled)] : [])];
  const line = `${measure} ${label}, ${problems} problems: ${parts.join('; ')}`;
  return failures.length === 0 ? line : `${line}\n${describeFailures(failures)}`;
}

/** What an example was worth, in a word or two. */
export function exampleLabel({ correct, reward }: EvalResult['examples'][number]): string {
  if (correct !== null) return correct ? 'right' : 'wrong';
  return reward === null ? 'no reward' : `reward ${reward.toFixed(3)}`;
}

function accuracy({ accuracy, low, high }: EvalResult['greedy']): string {
  return `${percent(accuracy!)} (${percent(low!).slice(0, -1)}–${percent(high!)})`;
}

function meanReward({ reward, rewardLow, rewardHigh }: EvalResult['greedy']): string {
  if (reward === null) return 'none';
  const interval = rewardLow === null ? '' : ` (${rewardLow.toFixed(3)}–${rewardHigh!.toFixed(3)})`;
  return reward.toFixed(3) + interval;
}

const percent = (share: number) => `${(100 * share).toFixed(1)}%`;

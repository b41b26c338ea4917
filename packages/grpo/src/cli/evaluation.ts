/** Evaluations in words: a line during training, a table for `grpo eval`. */

import { counted } from '../errors/counted.js';
import type { Difference } from '../evaluation/difference.js';
import type { Score } from '../evaluation/eval-score.js';
import type { EvalResult } from '../evaluation/evaluate.js';
import { problemsToTell } from '../maths/sample-size.js';
import { describeFailures } from '../rewards/index.js';

/**
 * One line an evaluation, `accuracy before, 200 problems: greedy 31.0% (25.0–37.7%), …; sampled …`; where the task cannot
 * tell right from wrong, `reward before, 200 problems: greedy 0.512 (0.480–0.544), …`. Failed rewards follow on lines of
 * their own.
 */
export function formatEvaluation(label: string, result: EvalResult): string {
  const { greedy, sampled, problems, failures } = result;
  const measure = greedy.accuracy === null ? 'reward' : 'accuracy';
  const value = (s: Score) =>
    greedy.accuracy === null ? mean(rewardOf(s)) : share({ mean: s.accuracy, low: s.low, high: s.high });
  const score = (name: string, s: Score) =>
    `${name} ${value(s)}, length ${s.meanLength.toFixed(1)}, cut ${percent(s.truncated)}`;
  const parts = [score('greedy', greedy), ...(sampled ? [score('sampled', sampled)] : [])];
  const line = `${measure} ${label}, ${counted(problems, 'problem')}: ${parts.join('; ')}`;
  return failures.length === 0 ? line : `${line}\n${describeFailures(failures)}`;
}

/** How the completions were made, for the heads of the columns. */
interface Decoded {
  samples: number;
  temperature: number;
  maxNewTokens: number;
}

/** The table of `grpo eval`: a column for greedy, one for sampled completions; every share with its 95 % interval. */
export function evaluationTable(result: EvalResult, { samples, temperature, maxNewTokens }: Decoded): string {
  const { greedy, sampled, passAtK = {} } = result;
  const columns = sampled ? [greedy, sampled] : [greedy];
  const row = (label: string, of: (s: Score) => string) => [label, ...columns.map(of)];
  const rows = [
    ['', 'greedy', ...(sampled ? [`${samples} sampled, temperature ${temperature}`] : [])],
    ...(greedy.accuracy === null
      ? []
      : [row('accuracy', (s) => share({ mean: s.accuracy, low: s.low, high: s.high }))]),
    ...Object.entries(passAtK).map(([k, estimate]) => [`pass@${k}`, '', share(estimate)]),
    row('reward', (s) => mean(rewardOf(s))),
    ...Object.keys(greedy.rewards).map((name) => row(`  ${name}`, (s) => mean(s.rewards[name] ?? NONE))),
    row('tokens, mean', (s) => s.meanLength.toFixed(1)),
    ...(greedy.right
      ? [
          row('  of right answers', (s) => lengths(s.right!)),
          row('  of wrong answers', (s) => lengths(s.wrong!)),
        ]
      : []),
    row(`cut at ${maxNewTokens} tokens`, (s) =>
      share({ mean: s.truncated, low: s.truncatedLow, high: s.truncatedHigh }),
    ),
  ];
  const width = (column: number) => Math.max(...rows.map((cells) => (cells[column] ?? '').length));
  const title = `${result.problems} held-out problems; in brackets 95 % intervals`;
  const lines = rows.map((cells) =>
    cells
      .map((cell, c) => cell.padEnd(width(c)))
      .join('   ')
      .trimEnd(),
  );
  const failed = result.failures.length > 0 ? ['', describeFailures(result.failures)] : [];
  return [title, '', ...lines, ...failed].join('\n');
}

/** Fewer problems than this tell little. */
const FEW = 200;

/** The difference that the warning takes as an example. */
const DIFFERENCE = 0.05;

/** Warning that an evaluation has too few problems to tell much; undefined when it has enough. */
export function fewProblems({ problems, greedy }: EvalResult): string | undefined {
  if (problems >= FEW) return undefined;
  const { accuracy, low, high, rewardLow, rewardHigh } = greedy;
  const start = `Only ${counted(problems, 'problem')} to evaluate on`;
  const advice = 'eval.limit and task.evalSize (or the rows of task.evalData) set how many there are.';
  if (accuracy === null) {
    const width =
      rewardLow === null
        ? 'all of them earn the same, which says little of others'
        : `the 95 % interval of the mean reward is ${(rewardHigh! - rewardLow).toFixed(3)} wide`;
    return `${start} (greedy): ${width}. ${advice}`;
  }
  // Of the interval's middle: an accuracy of 0 or 1 on few problems is not that of the model.
  const needed = roundUp(problemsToTell((low! + high!) / 2, DIFFERENCE));
  return (
    `${start}: the 95 % interval of the accuracy is ${(100 * (high! - low!)).toFixed(0)} points wide. ` +
    `To tell two models ${100 * DIFFERENCE} points apart takes about ${needed} problems. ${advice}`
  );
}

/** The difference between two models with one way of decoding, as a line. */
export function formatDifference(decoding: string, difference: Difference | null): string {
  if (!difference) return `${decoding}: no problem has a reward from both`;
  const { of, mean: value, low, high, better, worse } = difference;
  const [factor, unit] = of === 'accuracy' ? [100, ' points'] : [1, ''];
  const signed = (x: number) =>
    `${x < 0 ? '−' : '+'}${Math.abs(factor * x).toFixed(of === 'accuracy' ? 1 : 3)}`;
  const interval = low === null ? '' : ` (${signed(low)} to ${signed(high!)})`;
  return `${decoding}: ${of} ${signed(value)}${unit}${interval}; better at ${counted(better, 'problem')}, worse at ${worse}`;
}

/** Result of an example, in a word or two. */
export function exampleLabel({ correct, reward }: EvalResult['examples'][number]): string {
  if (correct !== null) return correct ? 'right' : 'wrong';
  return reward === null ? 'no reward' : `reward ${reward.toFixed(3)}`;
}

/** A value with its interval, as far as they are known. */
interface Shown {
  mean: number | null;
  low: number | null;
  high: number | null;
}

const NONE: Shown = { mean: null, low: null, high: null };

const rewardOf = (s: Score): Shown => ({ mean: s.reward, low: s.rewardLow, high: s.rewardHigh });

/** `31.0% (25.0–37.7%)` */
function share({ mean, low, high }: Shown): string {
  return `${percent(mean!)} (${percent(low!).slice(0, -1)}–${percent(high!)})`;
}

/** `0.512 (0.480–0.544)` */
function mean({ mean: value, low, high }: Shown): string {
  if (value === null) return 'none';
  return value.toFixed(3) + (low === null ? '' : ` (${low.toFixed(3)}–${high!.toFixed(3)})`);
}

/** `21.4 (of 46)` */
function lengths({ meanLength, completions }: NonNullable<Score['right']>): string {
  return meanLength === null ? '–' : `${meanLength.toFixed(1)} (of ${completions})`;
}

const percent = (value: number) => `${(100 * value).toFixed(1)}%`;

/** To two figures: 1571 → 1600. */
function roundUp(count: number): number {
  const unit = 10 ** Math.max(0, Math.floor(Math.log10(count)) - 1);
  return Math.ceil(count / unit) * unit;
}

import type { Prompt } from '../text/message.js';

/** Input of a reward function: one entry per completion, all arrays of equal length and aligned. */
export interface RewardBatch<Row = Record<string, unknown>> {
  prompts: Prompt[];
  /** The text of each completion, stop string included, end token left out. */
  completions: string[];
  /** Their token ids, end token included, where whoever scores has them: for rewards of lengths and repetitions. */
  completionIds?: (readonly number[])[];
  /** The dataset row that each prompt was made from. */
  rows: Row[];
}

/** A value with its grounds, for whoever asks why. */
export interface Verdict {
  /** `null`: no opinion. */
  value: number | null;
  /** Parts of the value, by name: `{ format: 1, answer: 0 }`. */
  parts?: Readonly<Record<string, number>>;
  /** The rule that decided, in a few words: `numbers equal`, `no </think>`. */
  rule?: string;
}

/** A verdict of somebody else. */
export interface JudgeVerdict extends Verdict {
  /** Name of the judge, where there are several: one for all completions of a prompt. */
  provider?: string;
  /** The judge's own words. */
  reply?: string;
}

/** A value that has its grounds. */
export type GroundedValue = Required<Pick<Verdict, 'parts' | 'rule'>> & { value: number };

/** Reward of a completion: a number, `null` for no opinion, or either with its grounds. */
export type RewardValue = number | null | Verdict | JudgeVerdict;

/**
 * Scores a batch of completions: one value each. May be async. An exception, a wrong length, NaN or an infinite value is
 * reported, never replaced by a number.
 */
export type RewardFunction<Row = Record<string, unknown>> = (
  batch: RewardBatch<Row>,
) => RewardValue[] | Promise<RewardValue[]>;

/** Scores one completion. May be async. */
export type CompletionScore<Row = Record<string, unknown>> = (
  completion: string,
  row: Row,
  prompt: Prompt,
) => RewardValue | Promise<RewardValue>;

/**
 * A reward function with its place in the total. `score` is written as a method, so that a reward of particular rows is
 * also one of unknown rows: a task hands its rewards no rows but its own.
 */
export interface Reward<Row = unknown> {
  name: string;
  /** Factor in the weighted sum; 0 logs the reward without training on it. */
  weight: number;
  /** Whether a value depends on the completion and its row alone, as those of built-in rewards do. */
  isStateless?: true;
  /** A {@link RewardFunction}. */
  score(batch: RewardBatch<Row>): ReturnType<RewardFunction<Row>>;
}

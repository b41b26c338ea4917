import type { Prompt } from '../text/message.js';

/** What a reward function sees: one entry a completion, all arrays of equal length and aligned. */
export interface RewardBatch<Row = Record<string, unknown>> {
  prompts: Prompt[];
  /** The text of each completion, stop string included, end token left out. */
  completions: string[];
  /** The dataset row that each prompt was made from. */
  rows: Row[];
}

/**
 * Scores a batch of completions: one number each, or `null` where the function has no opinion.
 * May be async. An exception, a wrong length, NaN or an infinite value is reported, never replaced by a number.
 */
export type RewardFunction<Row = Record<string, unknown>> = (
  batch: RewardBatch<Row>,
) => (number | null)[] | Promise<(number | null)[]>;

/** Scores one completion: a number, or `null` where the function has no opinion. May be async. */
export type CompletionScore<Row = Record<string, unknown>> = (
  completion: string,
  row: Row,
  prompt: Prompt,
) => number | null | Promise<number | null>;

/**
 * A reward function with its place in the total. `score` is written as a method, so that a reward of particular rows is
 * also one of unknown rows: a task hands its rewards no rows but its own.
 */
export interface Reward<Row = unknown> {
  name: string;
  /** Factor in the weighted sum; 0 logs the reward without training on it. */
  weight: number;
  /** A {@link RewardFunction}. */
  score(batch: RewardBatch<Row>): ReturnType<RewardFunction<Row>>;
}

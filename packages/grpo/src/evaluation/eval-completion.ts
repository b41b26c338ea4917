import type { FinishReason } from '../rollout/index.js';

/** A completion to show. */
export interface EvalExample {
  /** The prompt as the model saw it. */
  prompt: string;
  completion: string;
  /** Null where the task cannot tell. */
  correct: boolean | null;
  /** Weighted sum of its rewards; null where it has none. */
  reward: number | null;
}

/** One completion of an evaluation, with everything that it was found to be worth. */
export interface EvalCompletion extends EvalExample {
  decoding: 'greedy' | 'sampled';
  /** Its problem, and its place among the completions of that problem: both from 0. */
  problem: number;
  index: number;
  finishReason: FinishReason;
  /** Its tokens, the end token included. */
  ids: readonly number[];
  /** How many these are. */
  length: number;
  /** By name; null where a reward has no opinion, or failed. */
  rewards: Record<string, number | null>;
  /** What rewards are made of, and the rules that decided, by name of the reward; where rewards tell. */
  reward_parts?: Record<string, Readonly<Record<string, number>>>;
  reward_rules?: Record<string, string>;
}

/** A row of a file of them, under the names that `completions.jsonl` has. */
export function evalCompletionRow(completion: EvalCompletion) {
  const { decoding, problem, index, prompt, completion: text, finishReason, ids: _, ...rest } = completion;
  const { length, correct, reward, rewards, ...grounds } = rest;
  return {
    decoding,
    prompt: problem,
    index,
    prompt_text: prompt,
    completion: text,
    finish_reason: finishReason,
    length,
    correct,
    reward,
    rewards,
    ...grounds,
  };
}

import type { Reward } from '../rewards/reward.js';
import type { Prompt } from '../text/message.js';

/** One problem: the prompt, the row that it came from, and a demonstration for SFT where there is one. */
export interface Problem<Row = unknown> {
  prompt: Prompt;
  row: Row;
  /** A completion that SFT may imitate; without it the problem serves GRPO and evaluation only. */
  demonstration?: string;
}

/** A task = data + prompt + rewards + evaluation. One of particular rows is also one of unknown rows. */
export interface Task<Row = unknown> {
  name: string;
  train: Problem<Row>[];
  /** Held out: never trained on. */
  eval: Problem<Row>[];
  rewards: Reward<Row>[];
  /** Whether a completion answers its row: the accuracy that evaluation reports. A task that cannot tell has none. */
  isCorrect?(completion: string, row: Row): boolean;
  /**
   * Completions that the checks of the rewards cannot make by themselves: `gold` answers the problem, where its
   * demonstration does not, and `options` gives all possible answers at once.
   */
  canaries?(problem: Problem<Row>): { gold?: string; options?: string };
  /**
   * Where problems are of several tasks, told by `task` in their rows: how often each of these has its turn in training,
   * relative to the others. All problems take their turns alike when missing.
   */
  shares?: Readonly<Record<string, number>>;
  /** Strings at which a completion ends; they stay in the completion. */
  stop: string[];
}

import type { Watch } from '../progress/watch.js';
import type { Completion } from './completion.js';
import type { CompletionRequest } from './completion-requests.js';

/** Completions that are sampled together. */
export interface SamplingLot {
  readonly finished: readonly { row: CompletionRequest; completion: Completion }[];
  /** Completions that are not finished. */
  readonly active: number;
  /** Tokens drawn so far. */
  readonly tokens: number;
  /** How many completions' work is done at least. */
  readonly share: number;
  /**
   * Samples further tokens of every active completion.
   *
   * @param report - called with each part of a long pass
   * @throws Abandoned
   */
  advance(watch: Watch, report: () => void): void;
  dispose(): void;
}

import type { CompletionFailure } from '../each.js';
import type { RewardBatch } from '../reward.js';

/** Given to a reward's worker at its start. */
export interface WorkerStart {
  /** Absolute path of the user's module. */
  path: string;
}

/** To the worker: score this batch. It answers with one `WorkerReply`, and takes one batch at a time. */
export type WorkerRequest = RewardBatch;

/** From the worker: first `ready` or `refused`, then one of the others for each batch. */
export type WorkerReply =
  | {
      kind: 'ready';
      perCompletion: boolean;
      /** The worker's thread, where the system numbers threads. */
      thread: string | undefined;
    }
  | { kind: 'refused'; message: string; hint: string | undefined }
  | { kind: 'values'; values: unknown }
  | { kind: 'partial'; values: unknown[]; failures: CompletionFailure[] }
  | { kind: 'failed'; reason: string };

/** What page and worker say to each other. */
import type { RequestName, Requests } from 'grpo/studio';

/** Where the files are. */
export type Files =
  | { kind: 'server' }
  | { kind: 'held'; files: readonly { path: string; bytes: Uint8Array; modified: number }[] }
  | { kind: 'dropped'; files: readonly { path: string; file: File }[] };

export type ToWorker =
  | { kind: 'files'; files: Files }
  | { kind: 'ask'; id: number; name: RequestName; input: Requests[RequestName]['input'] };

export type FromWorker =
  | { kind: 'answer'; id: number; output: unknown }
  | { kind: 'failure'; id: number; message: string; hint?: string };

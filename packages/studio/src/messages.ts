/** Messages between page and worker. */
import type { RequestName, Requests } from 'grpo/studio';

/** A file that the page knows of. */
export interface ListedFile {
  path: string;
  size: number;
  modified: number;
}

/** The place of the files: at `grpo studio`, in the page (base64 of gzip), beside it, or dropped on it. */
export type Files =
  | { kind: 'server' }
  | { kind: 'held'; files: readonly (ListedFile & { text: string })[] }
  | { kind: 'beside'; base: string; files: readonly ListedFile[] }
  | { kind: 'dropped'; files: readonly { path: string; file: File }[] };

/** Why something could not be read, in words. */
export interface Failure {
  message: string;
  hint?: string;
  /** Whether the server was gone: what was read before stays true of then. */
  isLost?: boolean;
}

/** Progress of reading a file, in bytes. */
export interface ReadProgress {
  path: string;
  done: number;
  total: number;
}

export type ToWorker =
  | { kind: 'files'; files: Files }
  | { kind: 'ask'; id: number; name: RequestName; input: Requests[RequestName]['input'] };

export type FromWorker =
  | { kind: 'answer'; id: number; output: unknown }
  | ({ kind: 'failure'; id: number } & Failure)
  | ({ kind: 'reading' } & ReadProgress);

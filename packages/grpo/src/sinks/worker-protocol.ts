/** Messages between the thread of the sinks and the one that trains. */
import type { SinkSetting } from '../config/sections/sinks.js';
import type { RunOutcome } from './sink.js';

export interface WorkerStart {
  folder: string;
  sinks: readonly SinkSetting[];
  /** Steps that the run had done when it was begun or resumed. */
  done: number;
}

export type WorkerRequest = { kind: 'end'; outcome: RunOutcome } | { kind: 'stop' };

/** Steps that a sink has not taken. */
export interface Left {
  name: string;
  steps: number;
  /** Why the last attempt failed. */
  reason?: string | undefined;
}

export type WorkerReply =
  | { kind: 'ready'; places: readonly { name: string; place: string }[] }
  | { kind: 'refused'; message: string; hint?: string | undefined }
  | { kind: 'note'; text: string }
  /** After the end of the run: now and then, and as its last word. */
  | { kind: 'left'; left: readonly Left[]; isLast: boolean };

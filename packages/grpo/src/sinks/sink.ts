/** The items of a run, and the interface of the sinks that take them. */
import type { Finding } from '../doctor/finding.js';

/** How a run ended. */
export interface RunOutcome {
  how: 'done' | 'interrupted' | 'stopped' | 'crashed';
  /** Steps that it has done. */
  steps: number;
  /** The finding that stopped it, or the error. */
  reason?: string | undefined;
}

/** A row of `completions.jsonl`, as far as sinks read it. */
export interface CompletionRow {
  prompt_text: string;
  completion: string;
  finish_reason: string;
  length: number;
  /** NaN where a reward failed. */
  reward: number;
  rewards: Readonly<Record<string, number>>;
  advantage?: number;
}

/** A row of `findings.jsonl`, as far as sinks read it. */
export type FindingRow = Pick<Finding, 'code' | 'severity' | 'inducedBy' | 'measured'>;

/** Numbers by their names; NaN where there is none. */
export type Numbers = Readonly<Record<string, number>>;

/** Whatever belongs to one step, at the time in Unix seconds at which that step ended. */
export type Item = { step: number; time: number } & (
  | { kind: 'step'; values: Numbers; completions: readonly CompletionRow[] }
  | { kind: 'findings'; findings: readonly FindingRow[] }
  | { kind: 'evaluation'; values: Numbers }
  | { kind: 'end'; outcome: RunOutcome }
);

/** Takes a run's items somewhere. One call at a time; each item is sent once. */
export interface Sink {
  /** Where the items go, for people: a folder, a server. Without secrets. */
  readonly place: string;
  /** Completions are read for a sink that uses them. */
  readonly usesCompletions?: boolean;
  /** @throws Undelivered: the same items are sent again later */
  send(items: readonly Item[]): Promise<void>;
  /** Called after the last items, or when there is no more time for them. */
  close?(): Promise<void>;
}

/** The other side did not take the items; the message says why. */
export class Undelivered extends Error {
  constructor(
    message: string,
    /** How long the other side wants to be left alone. */
    readonly retryAfterSeconds?: number,
  ) {
    super(message);
  }
}

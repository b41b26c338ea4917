import type { Config } from '../../config/schema.js';
import { together } from '../../step/peers/together.js';
import type { Progress } from '../folder/progress.js';
import type { RunPeers } from './run-peers.js';

/** What rank 0 tells the others of the run before they open it. */
export interface Opening {
  config: Config;
  /** Fingerprints of the files that the run reads, by path. */
  files: Readonly<Record<string, string>>;
  progress: Progress;
  /** Stored groups, as lines of a checkpoint's file. */
  replay: string;
}

/** What each process says before each step. */
interface Turn {
  /** Of rank 0: what is next. */
  next?: 'step' | 'end';
  /** Whether the process was interrupted. */
  isInterrupted?: boolean;
  /** What a person should know of it. */
  notes?: readonly string[];
}

/** Agrees with the other processes on what is next. */
export async function takeTurn(
  peers: RunPeers,
  own: Turn,
): Promise<{
  next: 'step' | 'end';
  /** Whether a process was interrupted: there is no step then, and rank 0 ends the run. */
  isInterrupted: boolean;
  /** Of all processes, by rank. */
  notes: readonly (readonly string[])[];
}> {
  const turns = await together(peers, () => own);
  return {
    next: turns[0]!.next!,
    isInterrupted: turns.some(({ isInterrupted = false }) => isInterrupted),
    notes: turns.map(({ notes = [] }) => notes),
  };
}

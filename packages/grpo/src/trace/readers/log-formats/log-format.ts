import type { Line } from '../lines.js';
import type { CollectedLog } from '../rows/run-collector.js';
import type { Hints } from '../series/hints.js';

/** A way in which a text log tells its metrics. Fed with every line; what it does not know it passes over. */
export interface LogFormat {
  /** For people: `TRL console log`. */
  kind(collected: CollectedLog): string;
  take(line: Line): void;
  /** The runs in the log, one after another. */
  finish(): CollectedLog[];
  hints?: Hints;
  /** What was left out, for people. */
  notes?(): string[];
}

import type { CollectedLog } from '../collector.js';
import type { Line } from '../lines.js';
import type { Hints } from '../series-of.js';

/** A way in which a text log tells its metrics. Fed with every line; what it does not know it passes over. */
export interface LogFormat {
  /** For people: `TRL console log`. */
  kind(collected: CollectedLog): string;
  take(line: Line): void;
  /** Entries so far; the format with the most has read the log. */
  readonly rows: number;
  finish(): CollectedLog;
  hints?: Hints;
}

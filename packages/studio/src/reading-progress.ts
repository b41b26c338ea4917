/** Progress of the worker with a file; reading is synchronous, so the reports come from within it. */
import type { ReadProgress } from './messages.js';

/** Reports come no closer than this. */
const EVERY_MS = 200;

let tell: ((progress: ReadProgress) => void) | undefined;
let last = 0;

export function onReading(hear: (progress: ReadProgress) => void): void {
  tell = hear;
}

export function reportReading(path: string, done: number, total: number): void {
  const now = performance.now();
  if (now - last < EVERY_MS) return;
  last = now;
  tell?.({ path, done, total });
}

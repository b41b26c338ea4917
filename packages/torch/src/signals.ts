import { constants } from 'node:os';
import { native } from './native.js';

/** Signals that can be watched: those that ask a process to end. */
const WATCHED = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

type Watched = (typeof WATCHED)[number];

/**
 * Has `takeSignal` know of signals that `process.on` handles already. An operator or a backward pass keeps Node's event
 * loop from its turn, for seconds at real sizes, and with it every handler in JavaScript. A SIGINT that
 * comes more than five seconds after one that was not taken ends the process.
 */
export function watchSignals(names: readonly Watched[]): void {
  for (const name of names) native.watchSignal(constants.signals[name]);
}

/** The last of the watched signals that came since the last call; its handler still runs in its turn. */
export function takeSignal(): Watched | undefined {
  const number = native.takeSignal();
  return number === 0 ? undefined : WATCHED.find((name) => constants.signals[name] === number);
}

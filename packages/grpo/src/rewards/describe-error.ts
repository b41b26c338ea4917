import { inspect } from 'node:util';
import { printable } from '../errors/printable.js';

/** A reason that is already in words, such as a time-out or what a worker reported: shown as it is. */
export class Reason extends Error {
  constructor(
    message: string,
    /** False when it happened before the batch was looked at, so that no completion of it is to blame. */
    readonly fromBatch = true,
  ) {
    super(message);
  }
}

/** Describes an error of a reward function in one line, with the place in the user's file where it was thrown. */
export function describeError(error: unknown): string {
  if (error instanceof Reason) return error.message;
  if (!(error instanceof Error))
    return `threw ${printable(inspect(error, { depth: 1, breakLength: Infinity }))}`;
  const place = firstFrame(error);
  return `threw ${error.name}: ${printable(error.message.replace(/\s*\n\s*/g, ' '))}${place === undefined ? '' : ` (${place})`}`;
}

/** `file:line:column` of the innermost stack frame outside Node and installed packages. */
function firstFrame(error: Error): string | undefined {
  for (const line of error.stack?.split('\n') ?? []) {
    const place = /^\s+at (?:.* \()?(.+:\d+:\d+)\)?$/.exec(line)?.[1];
    if (place && !place.startsWith('node:') && !place.includes('node_modules')) return place;
  }
  return undefined;
}

import { UsageError } from '../config/index.js';

/** The port of a command line; undefined where none is given. @throws UsageError */
export function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new UsageError(`--port takes a number from 0 to 65535, not '${text}'.`);
  return port;
}

import { deserialize, serialize } from 'node:v8';
import { UserError } from '../../errors/user-error.js';
import { Abandoned } from '../../progress/watch.js';
import type { Peers } from './peers.js';

/**
 * Each process does `work`; returns the results of all, by rank. An error of one process is the error of all.
 *
 * @param gather - how the results are exchanged
 * @throws the error of `work`; UserError that names the rank, where another process failed; Abandoned where one abandoned it
 */
export async function together<T>(
  peers: Pick<Peers, 'gather' | 'progress'>,
  work: () => T | Promise<T>,
  gather = (bytes: Uint8Array) => peers.gather(bytes),
): Promise<T[]> {
  peers.progress();
  const own = await settle(work);
  const gathered = await gather(serialize(own.outcome));
  const outcomes = gathered.map((bytes) => deserialize(bytes) as Outcome<T>);
  const isAbandoned = own.error instanceof Abandoned;
  if ('error' in own && !isAbandoned) throw own.error;
  for (const [rank, { failure }] of outcomes.entries())
    if (failure) throw new UserError(`rank ${rank}: ${failure.message}`, failure);
  if (outcomes.some(({ abandoned }) => abandoned)) throw isAbandoned ? own.error : new Abandoned();
  return outcomes.map(({ value }) => value!.result);
}

/** What the work of a process came to. */
interface Outcome<T> {
  value?: { result: T };
  failure?: { message: string; hint?: string };
  abandoned?: true;
}

async function settle<T>(work: () => T | Promise<T>): Promise<{ outcome: Outcome<T>; error?: unknown }> {
  try {
    return { outcome: { value: { result: await work() } } };
  } catch (error) {
    if (error instanceof Abandoned) return { outcome: { abandoned: true }, error };
    const { message, hint } = error as Partial<UserError> & Error;
    return { outcome: { failure: { message, ...(hint && { hint }) } }, error };
  }
}

import { ProcessGroup } from '@grpo/torch';
import type { Config } from '../config/schema.js';
import { UserError } from '../errors/user-error.js';
import { Abandoned } from '../progress/watch.js';
import { resolveDevice } from '../run/device.js';
import { startOthers } from './launch.js';
import { rendezvous } from './rendezvous.js';

/**
 * Joins the other processes of this run; undefined where this one is alone.
 *
 * @param note - is told who has not come yet
 * @param signal - ends the wait for the others
 * @throws PeerError, SetupError: see `ProcessGroup.join`; Abandoned; UserError on a device that processes cannot share
 */
export async function joinPeers(
  { processes, device }: Pick<Config, 'processes' | 'device'>,
  note: (text: string) => void,
  signal: AbortSignal,
): Promise<ProcessGroup | undefined> {
  const place = rendezvous();
  if (!place) return undefined;
  if (resolveDevice(device) !== 'cpu') {
    throw new UserError(
      `this run has ${place.size} processes and device=${device}: processes share the CPU only`,
      {
        hint: 'Give device=cpu, or train in one process.',
      },
    );
  }
  const { localRank: _, localSize: __, ...where } = place;
  let { port } = place;
  const joined = ProcessGroup.join({
    ...where,
    timeoutSeconds: Math.ceil(60 * processes.timeout),
    onServing: (served) => {
      port = served;
      startOthers(port);
    },
    onMissing: (ranks) => {
      if (ranks.length > 0) note(`Waiting for ${named(ranks)} at ${place.host}:${port}.`);
    },
  });
  const abandoned = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new Abandoned()), { once: true });
  });
  return await Promise.race([joined, abandoned]);
}

/** The most that are listed by their numbers. */
const LISTED = 8;

function named(ranks: readonly number[]): string {
  const rest = ranks.length > LISTED ? ` and ${ranks.length - LISTED} more` : '';
  return `rank ${ranks.slice(0, LISTED).join(', ')}${rest}`;
}

import type { Config } from '../../config/schema.js';
import { UserError } from '../../errors/user-error.js';
import { Abandoned, type Observer, Watch } from '../../progress/watch.js';
import type { Peers } from '../../step/peers/peers.js';

/** The processes of a run, which end together. */
export interface RunPeers extends Peers {
  /** Tells the others that this process ends, and why: they end with it. */
  fail(reason: string): void;
  /** Rejects when another process has ended or fails, with its rank and reason. */
  readonly lost: Promise<never>;
}

/**
 * A watch that tells the other processes, at each report, that this one gets on.
 *
 * @param signal - abandons the work; another process that is lost ends it with that error
 */
export function watchWith(peers: RunPeers | undefined, observer: Observer, signal?: AbortSignal): Watch {
  if (!peers) return new Watch(observer, signal);
  const lost = new AbortController();
  peers.lost.catch((error: unknown) => lost.abort(error));
  const told: Observer = {
    progress: (now) => {
      peers.progress();
      observer.progress?.(now);
    },
    note: (text) => observer.note?.(text),
  };
  return new Watch(told, AbortSignal.any([lost.signal, ...(signal ? [signal] : [])]), () => {
    throw lost.signal.aborted ? lost.signal.reason : new Abandoned();
  });
}

/** @throws UserError for a setting that several processes cannot follow */
export function requireShareable({
  train,
  rollout,
  teacher,
}: Pick<Config, 'train' | 'rollout' | 'teacher'>): void {
  if (train.kindGradients > 0) {
    throw new UserError(
      'train.kindGradients compares gradients that one process computes; this run has several',
      { hint: 'Set train.kindGradients=0, or train in one process.' },
    );
  }
  if (rollout.engine !== 'own') {
    throw new UserError(
      `rollout.engine=${rollout.engine} is for a run of one process; this run has several`,
      { hint: 'Set rollout.engine=own: each process then samples its share. Or train in one process.' },
    );
  }
  if (teacher.engine !== 'own') {
    throw new UserError(
      `teacher.engine=${teacher.engine} is for a run of one process; this run has several`,
      {
        hint: 'Give teacher.model: each process then loads the teacher. Or train in one process.',
      },
    );
  }
}

/** Why a process ends, for the others. */
export const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

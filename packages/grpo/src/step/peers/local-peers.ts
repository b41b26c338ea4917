import { noGrad, type Tensor } from '@grpo/torch';
import type { Peers } from './peers.js';

/** Peers in one process, of which each may end all. */
export interface LocalPeers extends Peers {
  fail(reason: string): void;
  readonly lost: Promise<never>;
}

/** What the processes do at one time: all do the same. */
interface Meeting {
  what: string;
  given: unknown[];
  met: Promise<unknown[]>;
  resolve(all: unknown[]): void;
  reject(error: Error): void;
}

/** Processes of a run in one, which wait for each other as several would. */
class Meetings {
  readonly #meetings: Meeting[] = [];
  readonly #losses: ((error: Error) => void)[] = [];
  #failure: Error | undefined;

  constructor(readonly size: number) {}

  /** What the process of a rank sees of them. */
  of(rank: number): LocalPeers {
    let turn = 0;
    const lost = new Promise<never>((_, reject) => this.#losses.push(reject));
    // Nobody may listen.
    lost.catch(() => {});
    const meet = <T>(what: string, own: T) => this.#meet(turn++, rank, what, own) as Promise<T[]>;
    return {
      rank,
      size: this.size,
      lost,
      fail: (reason) => this.fail(new Error(`rank ${rank}: ${reason}`)),
      progress: () => {},
      gather: async (bytes) => (await meet('gather', bytes)).map((one) => one.slice()),
      broadcast: async (tensors) => {
        const [first] = await meet('broadcast', tensors);
        if (rank > 0) noGrad(() => tensors.forEach((own, i) => void own.copy_(first![i]!)));
        await meet('broadcast is read', undefined);
      },
      sum: async (tensors) => {
        const sums = sumOf(await meet('sum', tensors));
        await meet('sum is read', undefined);
        noGrad(() => tensors.forEach((own, i) => void own.copy_(sums[i]!)));
        for (const one of sums) one.dispose();
      },
    };
  }

  /** Ends the waiting of all. */
  fail(error: Error): void {
    this.#failure ??= error;
    for (const { reject } of this.#meetings) reject(error);
    for (const reject of this.#losses) reject(error);
  }

  async #meet(turn: number, rank: number, what: string, own: unknown): Promise<unknown[]> {
    if (this.#failure) throw this.#failure;
    const meeting = this.#meetings[turn] ?? meetingOf(what);
    this.#meetings[turn] = meeting;
    if (meeting.what !== what) throw new Error(`rank ${rank} comes to ${what}, others to ${meeting.what}`);
    meeting.given[rank] = own;
    if (Object.keys(meeting.given).length === this.size) meeting.resolve(meeting.given);
    return await meeting.met;
  }
}

function meetingOf(what: string): Meeting {
  let ends: Pick<Meeting, 'resolve' | 'reject'> | undefined;
  const met = new Promise<unknown[]>((resolve, reject) => {
    ends = { resolve, reject };
  });
  // Nobody may wait for it yet.
  met.catch(() => {});
  return { what, given: [], met, ...ends! };
}

const sumOf = (all: readonly (readonly Tensor[])[]): Tensor[] =>
  noGrad(() =>
    all[0]!.map((first, i) => {
      const sum = first.clone();
      for (const own of all.slice(1)) sum.add_(own[i]!);
      return sum;
    }),
  );

/**
 * Does the work of each rank of so many, all in this process; returns their results, by rank.
 *
 * @throws the error of the first rank that fails, once all have ended
 */
export async function atOnce<T>(size: number, work: (peers: LocalPeers) => Promise<T>): Promise<T[]> {
  const meetings = new Meetings(size);
  const all = Array.from({ length: size }, async (_, rank) => {
    try {
      return await work(meetings.of(rank));
    } catch (error) {
      meetings.fail(error as Error);
      throw error;
    }
  });
  const results = await Promise.allSettled(all);
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}

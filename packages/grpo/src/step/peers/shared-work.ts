import type { AdamW } from '@grpo/torch';
import { type Decoder, weightsChecksum } from '../../models/index.js';
import type { StepEvents } from '../observer.js';
import type { Trainer } from '../trainer.js';
import { PassCollector } from './pass-collector.js';
import { together } from './together.js';

/**
 * The work of a step, shared by its processes: each does a part, and all have the results of all. Without peers one process
 * does everything, and nothing is exchanged.
 */
export class SharedWork {
  constructor(
    private readonly trainer: Pick<Trainer, 'peers' | 'model'>,
    private readonly events: StepEvents,
  ) {}

  /**
   * Each process does `work`; returns the results of all, by rank. An error of one process ends the work of all.
   *
   * @throws the error of `work`; UserError that names the rank, where another process failed; Abandoned where one abandoned it
   */
  async together<T>(work: () => T | Promise<T>): Promise<T[]> {
    const { peers } = this.trainer;
    if (!peers) return [await work()];
    return await together(peers, work, (bytes) => this.events.stage('wait', () => peers.gather(bytes)));
  }

  /**
   * Each process does `work` for a run of the items, of about the same cost as the others'; returns the results of those that
   * had any, in the order of the items.
   */
  async share<I, R>(
    items: readonly I[],
    costOf: (item: I) => number,
    work: (own: readonly I[]) => Promise<R>,
  ): Promise<R[]> {
    const own = this.#partOf(items, costOf);
    const results = await this.together(async () => (own.length > 0 ? [await work(own)] : []));
    return results.flat();
  }

  /**
   * Shares the micro-batches of an update. All processes hear of all of them, in one order, once they are done; afterwards
   * each optimizer has the sum of their gradients.
   *
   * @param work - tells `events` of what it does
   */
  async accumulate<I>(
    items: readonly I[],
    costOf: (item: I) => number,
    optimizer: AdamW,
    work: (own: readonly I[], events: StepEvents) => Promise<void>,
  ): Promise<void> {
    const { events } = this;
    const { peers, model } = this.trainer;
    if (!peers) return await work(items, events);
    const told = await this.share(items, costOf, async (own) => {
      const collector = new PassCollector(peers.rank, events);
      await work(own, collector.events);
      return collector.messages;
    });
    PassCollector.tell(told.flat(), events, model.decoder.device);
    optimizer.completeGradients();
    await events.stage('sum', () => peers.sum([...optimizer.gradients.values()]));
  }

  /** Checksums of the weights, by rank; undefined without peers. */
  async checksums(decoder: Decoder): Promise<number[] | undefined> {
    return this.trainer.peers && (await this.together(() => weightsChecksum(decoder)));
  }

  /** The items of this process: those whose middle lies in its part of the whole cost. */
  #partOf<I>(items: readonly I[], costOf: (item: I) => number): readonly I[] {
    const { rank, size } = this.trainer.peers ?? { rank: 0, size: 1 };
    const costs = items.map(costOf);
    const whole = costs.reduce((sum, cost) => sum + cost, 0);
    let before = 0;
    return items.filter((_, i) => {
      const middle = (before + costs[i]! / 2) / whole;
      before += costs[i]!;
      return Math.floor(middle * size) === rank;
    });
  }
}

import { Watch } from '../progress/watch.js';
import type { Batch } from '../step/batch.js';
import type { MicroBatch } from '../step/micro-batch.js';
import {
  joinObservers,
  type MicroBatchPass,
  type StepEvents,
  type StepObserver,
  type UpdateResult,
} from '../step/observer.js';
import type { Trainer } from '../step/trainer.js';
import type { Update } from '../step/updates.js';
import type { AuditRecord } from '../trace/index.js';
import { AccumulationAudit } from './accumulation.js';
import { auditCheckpoint } from './checkpoint.js';
import { chosenOf } from './chosen.js';
import type { FollowingMeasure, Measure, Measured } from './context.js';
import { auditEndings } from './ending.js';
import { auditModel } from './model/audit-model.js';
import { auditPrompts } from './prompt.js';
import { auditRewards } from './reward.js';
import { UpdateAudit } from './update.js';
import { WeightsAudit } from './weights.js';

/** What is compared before the weights change, in the order of a step. */
const MEASURES: readonly Measure[] = [auditPrompts, auditModel, auditEndings, auditRewards, auditCheckpoint];

/** What follows the step from there on. */
const followersOf = (trainer: Trainer): FollowingMeasure[] => [
  new AccumulationAudit(trainer),
  new UpdateAudit(trainer),
  new WeightsAudit(trainer),
];

/**
 * Holds one step to an independent plain path, hand-over by hand-over. It changes nothing: with it and without it the
 * step leaves the same weights.
 */
export class Audit implements StepObserver {
  readonly #measured: Measured[] = [];
  readonly #followers: readonly FollowingMeasure[];
  readonly #events: StepEvents;
  #chosen: readonly number[] = [];

  /** @param trainer - the one that takes the step */
  constructor(private readonly trainer: Trainer) {
    this.#followers = followersOf(trainer);
    this.#events = joinObservers(this.#followers);
  }

  async compared(batch: Batch, step: number): Promise<void> {
    const { trainer } = this;
    const { watch = new Watch(), config } = trainer;
    this.#chosen = chosenOf(batch, config.seed, step);
    for (const [done, measure] of MEASURES.entries()) {
      watch.report({ stage: 'audit', done, total: MEASURES.length, unit: 'hand-overs' });
      this.#measured.push(...[await measure({ trainer, batch, step, chosen: this.#chosen })].flat());
      await watch.breathe();
    }
    await this.#events.compared(batch, step);
  }

  stage<T>(name: string, work: () => T): T {
    return this.#events.stage(name, work);
  }

  updateBegins(update: Update): void {
    this.#events.updateBegins(update);
  }

  microBatchBegins(micro: MicroBatch): void {
    this.#events.microBatchBegins(micro);
  }

  microBatchDone(pass: MicroBatchPass): void {
    this.#events.microBatchDone(pass);
  }

  beforeUpdate(update: Update): void {
    this.#events.beforeUpdate(update);
  }

  updated(result: UpdateResult): void {
    this.#events.updated(result);
  }

  failed(result: UpdateResult): void {
    this.#events.failed(result);
  }

  done(batch: Batch, step: number): void {
    this.#events.done(batch, step);
  }

  /** What was compared, for the record of the step. */
  get record(): AuditRecord {
    const measured = [...this.#measured, ...this.#followers.flatMap((one) => one.measured)];
    return {
      completions: [...this.#chosen],
      comparisons: measured.flatMap((one) => ('comparisons' in one ? one.comparisons : [])),
      missing: measured.flatMap((one) =>
        'missing' in one ? [{ handOver: one.handOver, what: one.missing }] : [],
      ),
    };
  }
}

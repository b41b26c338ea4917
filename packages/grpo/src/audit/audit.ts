import { weightCount } from '../memory/holdings.js';
import { Stopwatch } from '../observe/stopwatch.js';
import { Watch } from '../progress/watch.js';
import type { Batch } from '../step/batch.js';
import type { StepObserver } from '../step/observer.js';
import type { Trainer } from '../step/trainer.js';
import type { AuditRecord } from '../trace/index.js';
import { AccumulationAudit } from './accumulation.js';
import { auditAdvantages } from './advantage.js';
import { auditRecordOf } from './audit-record.js';
import { auditCheckpoint } from './checkpoint.js';
import { chosenOf } from './chosen.js';
import type { FollowingMeasure, Measure, Measured } from './context.js';
import { ControlAudit } from './control.js';
import { auditEndings } from './ending.js';
import { LossInputAudit } from './loss/loss-input.js';
import { auditLossSlopes } from './loss/loss-slopes.js';
import { auditModel } from './model/audit-model.js';
import { auditOrder } from './order/data-order.js';
import { auditPrompts } from './prompt.js';
import { ReferenceAudit } from './reference.js';
import { ReplayAudit } from './replay.js';
import { auditRewards } from './rewards/reward.js';
import { auditTotals } from './rewards/totals.js';
import { UpdateAudit } from './update.js';
import { WeightsAudit } from './weights.js';

/**
 * The measures that compare a step before its weights change, in its order. Those with `often` run at every step; the others
 * need passes of the plain model, or gradings.
 */
const MEASURES: readonly { measure: Measure; often?: true }[] = [
  { measure: auditOrder, often: true },
  { measure: auditPrompts, often: true },
  { measure: auditModel },
  { measure: auditLossSlopes },
  { measure: auditEndings, often: true },
  { measure: auditTotals, often: true },
  { measure: auditRewards },
  { measure: auditAdvantages, often: true },
  { measure: auditCheckpoint },
];

/** The measures that follow a step to its end. Only a whole audit compares all weights. */
const followersOf = (trainer: Trainer, isWhole: boolean): FollowingMeasure[] => [
  new LossInputAudit(trainer),
  new AccumulationAudit(trainer),
  new UpdateAudit(trainer, isWhole),
  ...(isWhole ? [new WeightsAudit(trainer)] : []),
  new ReferenceAudit(trainer),
  new ControlAudit(trainer),
  new ReplayAudit(trainer),
];

/**
 * Holds one step to an independent plain path, hand-over by hand-over. It changes nothing: with it and without it the
 * step leaves the same weights.
 */
export class Audit {
  /** Are to watch the step, in this order. */
  readonly observers: readonly StepObserver[];
  readonly #clock = new Stopwatch();
  readonly #measured: Measured[] = [];
  readonly #isWhole: boolean;
  readonly #measures: readonly Measure[];
  readonly #followers: readonly FollowingMeasure[];
  #chosen: readonly number[] = [];

  /**
   * @param trainer - the one that takes the step
   * @param options - `isWhole`: whether all is compared, or only what costs nothing beside a step; `more`: what is
   * compared besides where all is, by who knows more than the trainer
   */
  constructor(
    private readonly trainer: Trainer,
    { isWhole = true, more = [] }: { isWhole?: boolean; more?: readonly Measure[] } = {},
  ) {
    const due = MEASURES.filter(({ often = false }) => isWhole || often).map(({ measure }) => measure);
    this.#measures = isWhole ? [...due, ...more] : due;
    this.#followers = followersOf(trainer, isWhole);
    this.#isWhole = isWhole;
    const compare: NonNullable<StepObserver['compared']> = (batch, step) =>
      this.#clock.stage('audit', () => this.#compare(batch, step));
    this.observers = [{ compared: compare }, ...this.#followers];
  }

  async #compare(batch: Batch, step: number): Promise<void> {
    const { trainer } = this;
    const { watch = new Watch(), config } = trainer;
    const measures = this.#measures;
    if (this.#isWhole) {
      const weights = weightCount(trainer.model.decoder.config);
      this.#chosen = chosenOf(batch, config.seed, step, weights);
    }
    for (const [done, measure] of measures.entries()) {
      // The time left cannot be told: one hand-over takes nearly all of it.
      const now = { stage: 'audit', done, total: measures.length, unit: 'hand-overs', share: 0 };
      const tell = () => watch.report(now);
      tell();
      this.#measured.push(...[await measure({ trainer, batch, step, chosen: this.#chosen, tell })].flat());
      await watch.breathe();
    }
  }

  /** Seconds of what is computed again, under the name of the stage. */
  get seconds(): Readonly<Record<string, number>> {
    return this.#clock.seconds;
  }

  /** What was compared, for the record of the step. */
  get record(): AuditRecord {
    const measured = [...this.#measured, ...this.#followers.flatMap((one) => one.measured)];
    return auditRecordOf(measured, this.#chosen);
  }
}

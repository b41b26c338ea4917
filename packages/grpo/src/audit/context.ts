import type { Batch } from '../step/batch.js';
import type { StepObserver } from '../step/observer.js';
import type { Trainer } from '../step/trainer.js';
import type { Comparison, HandOver } from '../trace/index.js';

/** What the audit of a step compares with the plain path, before the weights change. */
export interface AuditContext {
  trainer: Trainer;
  batch: Batch;
  /** Counted from 0. */
  step: number;
  /** The completions that are computed again, ascending. */
  chosen: readonly number[];
  /**
   * To be called between the parts of what takes over a second: says that it goes on.
   *
   * @throws Abandoned
   */
  tell(): void;
}

/** What the audit of one hand-over came to: comparisons, or what they lack. */
export type Measured = { comparisons: Comparison[] } | { handOver: HandOver; missing: string };

/** Compares one hand-over or several; it may take long, and changes nothing. */
export type Measure = (context: AuditContext) => Measured | Measured[] | Promise<Measured>;

/** Compares hand-overs by what the events of a step show, and changes nothing either. */
export interface FollowingMeasure extends StepObserver {
  /** What it came to, once the step is done. */
  readonly measured: readonly Measured[];
}

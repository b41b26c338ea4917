import type { LossInput, LossOutput, TokenScores } from '../objective/index.js';
import type { Batch } from './batch.js';
import type { MicroBatch } from './micro-batch.js';
import type { Update } from './updates.js';

/** A micro-batch after its backward pass; its tensors live as long as the event. */
export interface MicroBatchPass {
  micro: MicroBatch;
  scores: TokenScores;
  input: LossInput;
  output: LossOutput;
}

/** An update that the optimizer was asked for. */
export interface UpdateResult {
  learningRate: number;
  loss: number;
  /** Norm of the whole gradient, and of each tensor's, before clipping. */
  gradNorm: number;
  gradNorms?: ReadonlyMap<string, number>;
}

/**
 * Watches a step and changes nothing of it. The events come in this order; from `updateBegins` to `updated` for each
 * update.
 */
export interface StepObserver {
  /** Runs the work of a stage: `render`, `sample`, `score`, `old`, `reference`, `logprob`, `backward`, `update`. */
  stage?<T>(name: string, work: () => T): T;
  /** The completions are sampled, scored, and compared within their groups. The step waits for the promise. */
  compared?(batch: Batch, step: number): void | Promise<void>;
  /** An update begins, or begins again after memory ran out. */
  updateBegins?(update: Update): void;
  microBatchBegins?(micro: MicroBatch): void;
  microBatchDone?(pass: MicroBatchPass): void;
  /** The optimizer has all gradients of the update. An error ends the step, and leaves no gradients. */
  beforeUpdate?(update: Update): void;
  /** The weights have changed. */
  updated?(result: UpdateResult): void;
  /** The gradient is not finite: the weights have not changed, and the step ends. */
  failed?(result: UpdateResult): void;
  done?(batch: Batch, step: number): void;
}

/** All events of a step. */
export type StepEvents = Required<StepObserver>;

/** Joins observers into one that calls them in their order. */
export function joinObservers(several: readonly (StepObserver | undefined)[]): StepEvents {
  const observers = several.filter((one) => one !== undefined);
  const tell = (event: (observer: StepObserver) => void) => {
    for (const observer of observers) event(observer);
  };
  return {
    stage: (name, work) =>
      observers.reduceRight(
        (inner, observer) => (observer.stage ? () => observer.stage!(name, inner) : inner),
        work,
      )(),
    compared: async (batch, step) => {
      for (const observer of observers) await observer.compared?.(batch, step);
    },
    updateBegins: (update) => tell((observer) => observer.updateBegins?.(update)),
    microBatchBegins: (micro) => tell((observer) => observer.microBatchBegins?.(micro)),
    microBatchDone: (pass) => tell((observer) => observer.microBatchDone?.(pass)),
    beforeUpdate: (update) => tell((observer) => observer.beforeUpdate?.(update)),
    updated: (result) => tell((observer) => observer.updated?.(result)),
    failed: (result) => tell((observer) => observer.failed?.(result)),
    done: (batch, step) => tell((observer) => observer.done?.(batch, step)),
  };
}

import type { SampledValues } from '../models/index.js';
import type { LossInput, LossOutput, TokenScores } from '../objective/index.js';
import type { Batch } from './batch.js';
import type { MicroBatch } from './micro-batch.js';
import type { Update } from './updates.js';

/**
 * A micro-batch after its backward pass; its tensors live as long as the event. Of those that several processes make, all
 * hear at the end of the update, rank after rank.
 */
export interface MicroBatchPass {
  micro: MicroBatch;
  /** Of the process that made it. */
  rank: number;
  scores: TokenScores;
  input: LossInput;
  output: LossOutput;
  /** Some elements of that process's gradients, with those of this pass. */
  gradients(): SampledValues;
}

/** An update that the optimizer was asked for. */
export interface UpdateResult {
  learningRate: number;
  loss: number;
  /** Norm of the whole gradient, and of each tensor's, before clipping. */
  gradNorm: number;
  gradNorms?: ReadonlyMap<string, number>;
  /** Checksums of the weights that it left, by rank; with peers only. */
  checksums?: readonly number[];
}

/**
 * Watches a step and changes nothing of it. The events come in this order; from `updateBegins` to `updated` for each
 * update.
 */
export interface StepObserver {
  /**
   * Runs the work of a stage: `render`, `sample`, `score`, `old`, `reference`, `logprob`, `backward`, `update`; with peers
   * `sum`, their gradients, and within the others `wait`, for what a peer has not done yet.
   */
  stage?<T>(name: string, work: () => T): T;
  /** The completions are sampled, scored, and compared within their groups. The step waits for the promise. */
  compared?(batch: Batch, step: number): void | Promise<void>;
  /** An update begins, or begins again after memory ran out. */
  updateBegins?(update: Update): void;
  /** @param gradients - some elements of those so far, in the process that does it */
  microBatchBegins?(micro: MicroBatch, gradients: () => SampledValues): void;
  microBatchDone?(pass: MicroBatchPass): void;
  /** The optimizer has all gradients of the update, summed over the processes. An error ends the step, and leaves no gradients. */
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
    microBatchBegins: (micro, gradients) => tell((observer) => observer.microBatchBegins?.(micro, gradients)),
    microBatchDone: (pass) => tell((observer) => observer.microBatchDone?.(pass)),
    beforeUpdate: (update) => tell((observer) => observer.beforeUpdate?.(update)),
    updated: (result) => tell((observer) => observer.updated?.(result)),
    failed: (result) => tell((observer) => observer.failed?.(result)),
    done: (batch, step) => tell((observer) => observer.done?.(batch, step)),
  };
}

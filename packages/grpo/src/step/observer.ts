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
      observers.reduceRight((inner, own) => (own.stage ? () => own.stage!(name, inner) : inner), work)(),
    compared: async (batch, step) => {
      for (const own of observers) await own.compared?.(batch, step);
    },
    updateBegins: (update) => tell((own) => own.updateBegins?.(update)),
    microBatchBegins: (micro) => tell((own) => own.microBatchBegins?.(micro)),
    microBatchDone: (pass) => tell((own) => own.microBatchDone?.(pass)),
    beforeUpdate: (update) => tell((own) => own.beforeUpdate?.(update)),
    updated: (result) => tell((own) => own.updated?.(result)),
    failed: (result) => tell((own) => own.failed?.(result)),
    done: (batch, step) => tell((own) => own.done?.(batch, step)),
  };
}

import type { Config } from '../config/schema.js';
import type { Batch, Iteration } from './batch.js';

/** One optimizer update of a step. */
export interface Update {
  /** Its place among the updates of the step, from 0. With the first the policy is still the one that sampled. */
  index: number;
  /** The pass over the rollout that it is part of. */
  iteration: Iteration;
  /** The prompts whose groups it learns from. */
  prompts: readonly number[];
  /** Completions of which this differs are not computed together. */
  apart?: (b: number) => string;
}

/**
 * The updates of a step: `objective.iterations` passes over `objective.minibatches` runs of prompts. Where the gradients
 * of kinds are compared (`train.kindGradients`), the first update takes its prompts kind by kind.
 */
export function updatesOf(
  batch: Batch,
  { objective, train }: Pick<Config, 'objective' | 'train'>,
  step: number,
): Update[] {
  const runs = minibatches(batch, objective.minibatches);
  const updates = batch.iterations
    .flatMap((iteration) => runs.map((prompts) => ({ iteration, prompts })))
    .map((update, index): Update => ({ index, ...update }));
  if (train.kindGradients > 0 && step % train.kindGradients === 0 && updates[0])
    updates[0] = kindByKind(updates[0], batch);
  return updates;
}

/** The prompts that are learnt from, in `n` runs of equal length: dropped groups leave theirs shorter. */
function minibatches({ problems, advantages }: Batch, n: number): number[][] {
  const size = problems.length / n;
  const dropped = new Set(advantages.dropped);
  return Array.from({ length: n }, (_, i) => Array.from({ length: size }, (_, j) => i * size + j))
    .map((run) => run.filter((p) => !dropped.has(p)))
    .filter((run) => run.length > 0);
}

function kindByKind(update: Update, batch: Batch): Update {
  const { kinds_P } = batch;
  const kinds = [...new Set(update.prompts.map((p) => kinds_P[p]!))];
  return {
    ...update,
    prompts: kinds.flatMap((kind) => update.prompts.filter((p) => kinds_P[p] === kind)),
    apart: (b) => kinds_P[batch.problemOf(b)]!,
  };
}

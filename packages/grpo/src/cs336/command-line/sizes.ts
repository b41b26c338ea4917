/** The assignment counts completions where our settings count prompts, parts and tokens. */
import { UsageError } from '../../config/index.js';

/** Sizes in completions, as the assignment's script has them. */
export interface AssignmentSizes {
  rolloutBatch: number;
  group: number;
  /** Completions of an optimizer step. */
  trainBatch: number;
  epochs: number;
  /** Micro-batches of an optimizer step, where they are given. */
  accumulation?: number | undefined;
}

export interface OurSizes {
  prompts: number;
  minibatches: number;
  iterations: number;
  /** Completions of a micro-batch. */
  microBatch?: number;
  /** How the sizes were read, where it is not what they say. */
  note?: string;
}

/** @throws UsageError with the numbers that work, where these do not divide */
export function readSizes(sizes: AssignmentSizes): OurSizes {
  const { rolloutBatch, group, trainBatch, epochs, accumulation } = sizes;
  if (rolloutBatch % group !== 0) {
    throw misfit(
      `--rollout-batch-size ${rolloutBatch} does not split into groups of ${group} (--group-size).`,
      nearestMultiples(rolloutBatch, group),
    );
  }
  if (accumulation !== undefined && trainBatch % accumulation !== 0) {
    throw misfit(
      `--gradient-accumulation-steps ${accumulation} does not divide --train-batch-size ${trainBatch}.`,
      nearest(divisors(trainBatch), accumulation),
    );
  }
  const { update, note } = updateOf(sizes);
  return {
    prompts: rolloutBatch / group,
    minibatches: rolloutBatch / update,
    iterations: epochs,
    ...(accumulation !== undefined && { microBatch: trainBatch / accumulation }),
    ...(note !== undefined && { note }),
  };
}

/** Completions of one of our updates. */
function updateOf({ rolloutBatch, group, trainBatch, epochs }: AssignmentSizes): {
  update: number;
  note?: string;
} {
  const working = divisors(rolloutBatch).filter((n) => n % group === 0);
  if (working.includes(trainBatch)) return { update: trainBatch };
  const times = trainBatch / rolloutBatch;
  if (trainBatch < rolloutBatch || !Number.isInteger(times)) {
    throw misfit(
      `--train-batch-size ${trainBatch} does not split a rollout of ${rolloutBatch} into updates of whole groups of ${group}.`,
      working,
    );
  }
  if (times !== epochs) {
    throw new UsageError(
      `--train-batch-size ${trainBatch} is ${times} times a rollout of ${rolloutBatch}, in which each completion appears once, and --epochs-per-rollout-batch is ${epochs}.`,
      {
        hint: `Read as ${times} epochs of ${rolloutBatch}: --epochs-per-rollout-batch ${times}. Otherwise these work as --train-batch-size: ${working.join(', ')}.`,
      },
    );
  }
  return {
    update: rolloutBatch,
    note: `--train-batch-size ${trainBatch} with --rollout-batch-size ${rolloutBatch} and ${epochs} epochs is read as ${epochs} × ${rolloutBatch}: ${epochs} updates of ${rolloutBatch} completions from each rollout.`,
  };
}

const misfit = (problem: string, working: readonly number[]) =>
  new UsageError(problem, { hint: `These work: ${working.join(', ')}.` });

const divisors = (n: number) => Array.from({ length: n }, (_, i) => i + 1).filter((d) => n % d === 0);

const nearestMultiples = (n: number, of: number) =>
  [Math.floor(n / of) * of, Math.ceil(n / of) * of].filter((multiple) => multiple > 0);

/** The few values closest to one that does not work, in order. */
const nearest = (values: readonly number[], to: number) =>
  values
    .toSorted((a, b) => Math.abs(a - to) - Math.abs(b - to))
    .slice(0, 4)
    .sort((a, b) => a - b);

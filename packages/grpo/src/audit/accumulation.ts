import { changedTensors, type SampledValues, sampledValues } from '../models/index.js';
import type { Batch } from '../step/batch.js';
import type { MicroBatch } from '../step/micro-batch.js';
import type { MicroBatchPass } from '../step/observer.js';
import type { Trainer } from '../step/trainer.js';
import type { Update } from '../step/updates.js';
import type { Comparison } from '../trace/index.js';
import type { FollowingMeasure, Measured } from './context.js';
import { samplerLogprobs } from './places.js';
import { ROUNDING } from './plain/plain-adamw.js';
import { type Pair, worstByQuantity, worstOf } from './worst.js';

const HAND_OVER = 'loss';

/**
 * Follows the gradients of an update from micro-batch to micro-batch: they begin empty, each pass adds to them, nothing
 * changes them in between, those of several processes are added up, and each completion of the update takes part once.
 */
export class AccumulationAudit implements FollowingMeasure {
  readonly #comparisons: Comparison[] = [];
  #batch: Batch | undefined;
  /** Prompts of each update of the step, as declared. */
  #declared: number[][] = [];
  #begun: Comparison[] = [];
  #passes: Pass[] = [];
  #before: SampledValues = new Map();

  constructor(private readonly trainer: Trainer) {}

  compared(batch: Batch): void {
    this.#batch = batch;
    this.#declared = declaredUpdates(batch, this.trainer.config.objective);
  }

  updateBegins(): void {
    this.#passes = [];
    const { optimizer, model } = this.trainer;
    const present = [...model.decoder.trainable].filter(
      ([name, parameter]) => optimizer.gradients.has(name) || parameter.grad !== null,
    );
    this.#begun = worstOf(HAND_OVER, 'tensors with a gradient when an update begins', [
      { found: present.length, plain: 0, bound: 0, ...(present[0] && { tensor: present[0][0] }) },
    ]);
  }

  microBatchBegins(_: MicroBatch, gradients: () => SampledValues): void {
    this.#before = gradients();
  }

  microBatchDone({ micro: { members }, rank, gradients }: MicroBatchPass): void {
    this.#passes.push({ before: this.#before, after: gradients(), members, rank });
  }

  beforeUpdate({ index }: Update): void {
    this.#comparisons.push(...this.#begun, ...this.#betweenPasses(), ...this.#membersOf(index));
    this.#passes = [];
  }

  get measured(): Measured[] {
    return [{ comparisons: worstByQuantity(this.#comparisons) }];
  }

  /** Gradients that change between two passes, and passes after which no gradient has changed. */
  #betweenPasses(): Comparison[] {
    const passes = this.#passes;
    const sum = sampledValues(this.trainer.optimizer.gradients);
    const isLast = ({ rank }: Pass, i: number) => passes[i + 1]?.rank !== rank;
    const ends = passes.filter(isLast).map(({ after }) => after);
    const between = passes.flatMap((pass, i) => {
      if (isLast(pass, i) && ends.length > 1) return [];
      const changed = changedTensors(pass.after, passes[i + 1]?.before ?? sum);
      return { found: changed.length, plain: 0, bound: 0, ...(changed[0] && { tensor: changed[0] }) };
    });
    const lost = this.#passes
      .filter(({ members }) => members.some((b) => this.#teaches(b)))
      .map(({ before, after, members }) => ({
        found: Number(changedTensors(before, after).length > 0),
        plain: 1,
        bound: 0,
        completion: members[0]!,
      }));
    return [
      ...worstOf(HAND_OVER, 'tensors whose gradient changes between two micro-batches', between),
      ...worstOf(HAND_OVER, 'backward passes that change the gradient', lost),
      ...worstOf(HAND_OVER, "sum of the processes' gradients", ends.length > 1 ? sums(sum, ends) : []),
    ];
  }

  /** Whether the policy's term of a completion has a gradient for certain: its ratio is 1, so nothing is clipped. */
  #teaches(b: number): boolean {
    const { config, ownStages = [] } = this.trainer;
    const { oldLogprobs, iterations, minibatches } = config.objective;
    const batch = this.#batch!;
    return (
      oldLogprobs === 'detach' &&
      iterations * minibatches === 1 &&
      config.correction.level === 'off' &&
      ownStages.length === 0 &&
      !batch.exchange?.replayed.has(batch.problemOf(b)) &&
      Math.abs(batch.advantages.advantages[b]!) > 0 &&
      batch.masks_B[b]!.includes(1) &&
      // The gradient of a completion with a probability near 1 may be 0.
      samplerLogprobs(batch.completions_B[b]!).some((logprob) => logprob < -1e-3)
    );
  }

  /** How often each completion takes part in an update, and whether it should. */
  #membersOf(index: number): Comparison[] {
    const { completions_B, groupSize } = this.#batch!;
    const prompts = new Set(this.#declared[index]);
    const taken = this.#passes.flatMap(({ members }) => members);
    return worstOf(
      HAND_OVER,
      'passes of a completion in an update',
      completions_B.map((_, b) => ({
        found: taken.filter((own) => own === b).length,
        plain: Number(prompts.has(Math.floor(b / groupSize))),
        bound: 0,
        completion: b,
      })),
    );
  }
}

/** A pass over a micro-batch, with the gradients of its process before and after it. */
interface Pass {
  before: SampledValues;
  after: SampledValues;
  members: readonly number[];
  rank: number;
}

/** The gradient that the optimizer steps with beside the sum of those that the processes have come to. */
function* sums(sum: SampledValues, ends: readonly SampledValues[]): Generator<Pair> {
  for (const [tensor, values] of sum) {
    const parts = ends.flatMap((end) => end.get(tensor) ?? []);
    for (const [i, found] of values.entries()) {
      const plain = parts.reduce((total, part) => total + part[i]!, 0);
      const size = parts.reduce((total, part) => total + Math.abs(part[i]!), 0);
      const deviation = Object.is(found, plain) ? 0 : Math.abs(found - plain);
      // Each sum of two is rounded once.
      yield { found, plain, bound: parts.length * ROUNDING * size, deviation, tensor };
    }
  }
}

/** `iterations` passes over the prompts, each in `minibatches` parts of equal size, without dropped groups. */
function declaredUpdates(
  { problems, advantages }: Batch,
  { iterations, minibatches }: Trainer['config']['objective'],
): number[][] {
  const updates: number[][] = [];
  for (let pass = 0; pass < iterations; pass++) {
    for (let part = 0; part < minibatches; part++) {
      const isIn = (p: number) => Math.floor((p * minibatches) / problems.length) === part;
      const prompts = problems.map((_, p) => p).filter((p) => isIn(p) && !advantages.dropped.includes(p));
      if (prompts.length > 0) updates.push(prompts);
    }
  }
  return updates;
}

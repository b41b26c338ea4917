import type { Batch } from '../step/batch.js';
import type { MicroBatchPass } from '../step/observer.js';
import type { Trainer } from '../step/trainer.js';
import type { Update } from '../step/updates.js';
import type { Comparison } from '../trace/index.js';
import type { FollowingMeasure, Measured } from './context.js';
import { changedTensors, type SampledValues, sampledValues } from './sampled-values.js';
import { worstByQuantity, worstOf } from './worst.js';

const HAND_OVER = 'loss';

/**
 * Follows the gradients of an update from micro-batch to micro-batch: they begin empty, each pass adds to them, nothing
 * changes them in between, and each completion of the update takes part once.
 */
export class AccumulationAudit implements FollowingMeasure {
  readonly #comparisons: Comparison[] = [];
  #batch: Batch | undefined;
  /** Prompts of each update of the step, as declared. */
  #declared: number[][] = [];
  #begun: Comparison[] = [];
  #passes: { before: SampledValues; after: SampledValues; members: readonly number[] }[] = [];
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

  microBatchBegins(): void {
    this.#before = sampledValues(this.trainer.optimizer.gradients);
  }

  microBatchDone({ micro: { members } }: MicroBatchPass): void {
    const after = sampledValues(this.trainer.optimizer.gradients);
    this.#passes.push({ before: this.#before, after, members });
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
    const last = sampledValues(this.trainer.optimizer.gradients);
    const starts = [...this.#passes.slice(1).map(({ before }) => before), last];
    const between = this.#passes.map(({ after }, i) => {
      const changed = changedTensors(after, starts[i]!);
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
      batch.completions_B[b]!.logprobs.some((logprob) => logprob < -1e-3)
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

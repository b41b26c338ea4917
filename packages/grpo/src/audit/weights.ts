import type { Tensor } from '@grpo/torch';
import { checksumOf, weightsChecksum } from '../models/index.js';
import type { Batch } from '../step/batch.js';
import type { Trainer } from '../step/trainer.js';
import type { Comparison } from '../trace/index.js';
import type { FollowingMeasure, Measured } from './context.js';
import { ROUNDING } from './plain/plain-adamw.js';
import { type SampledValues, sampledValues } from './sampled-values.js';
import { type Pair, worstByQuantity, worstOf } from './worst.js';

const HAND_OVER = 'weights';

/** Holds the weights that sample, and those of the reference, to what the step before left and what is declared. */
export class WeightsAudit implements FollowingMeasure {
  readonly #comparisons: Comparison[] = [];
  /** The reference before the last update, and what that update may mix into it. */
  #mixed: { before: SampledValues; policy: SampledValues; share: number } | undefined;
  #before: SampledValues = new Map();

  constructor(private readonly trainer: Trainer) {}

  compared(batch: Batch): void {
    const { model, optimizer, reference, checksums, restored } = this.trainer;
    const policy = weightsChecksum(model.decoder);
    this.#add('checksum of the weights that sampled', sampledWith(batch, policy));
    if (checksums) {
      const sums = {
        policy,
        optimizer: checksumOf(optimizer.state().values()),
        reference: reference && weightsChecksum(reference),
      };
      for (const [what, found] of Object.entries(sums)) {
        const plain = checksums[what as keyof typeof sums];
        if (found === undefined || plain === undefined) continue;
        // Between the steps of a process nothing may change; between processes there is a checkpoint.
        const handOver = restored && found !== plain ? 'checkpoint' : HAND_OVER;
        this.#comparisons.push(...worstOf(handOver, `checksum of the ${what}`, [{ found, plain, bound: 0 }]));
      }
    }
    this.#before = this.#reference();
  }

  updateBegins(): void {
    this.#compareReference();
  }

  /** The reference follows the policy after this event, where it is declared to. */
  updated(): void {
    const { optimizer, model, control, config } = this.trainer;
    const { referenceEvery, referenceMix } = config.kl;
    const isDue = referenceEvery > 0 && (control.updates + 1) % referenceEvery === 0;
    const state = optimizer.state();
    const masterOf = ([name, tensor]: [string, Tensor]) =>
      [name, state.get(`${name}.master`) ?? tensor] as const;
    this.#mixed = {
      before: this.#before,
      policy: sampledValues(new Map([...model.decoder.trainable].map(masterOf))),
      share: isDue ? referenceMix : 0,
    };
  }

  done(): void {
    this.#compareReference();
  }

  get measured(): Measured[] {
    const comparisons = worstByQuantity(this.#comparisons);
    return comparisons.length > 0
      ? [{ comparisons }]
      : [{ handOver: HAND_OVER, missing: 'checksums of the weights' }];
  }

  #compareReference(): void {
    if (!this.#mixed) return;
    const { before, policy, share } = this.#mixed;
    this.#mixed = undefined;
    this.#before = this.#reference();
    this.#add('weight of the reference', mixedWeights(before, this.#before, policy, share));
  }

  /** Weights that may move: float32 where half-precision weights would round them away. */
  #reference(): SampledValues {
    const { reference, movingReference } = this.trainer;
    return reference ? sampledValues(movingReference?.masters ?? reference.trainable) : new Map();
  }

  #add(quantity: string, pairs: Iterable<Pair>): void {
    this.#comparisons.push(...worstOf(HAND_OVER, quantity, pairs));
  }
}

/** Each completion of the step with the checksum of the weights that sampled it. */
const sampledWith = (batch: Batch, plain: number): Pair[] =>
  batch.completions_B.flatMap(({ weights }, completion) =>
    weights === undefined || batch.exchange?.replayed.has(batch.problemOf(completion))
      ? []
      : [{ found: weights, plain, bound: 0, completion }],
  );

/** The reference after an update beside (1 − share) × what it was + share × the policy. */
function* mixedWeights(
  before: SampledValues,
  after: SampledValues,
  policy: SampledValues,
  share: number,
): Generator<Pair> {
  for (const [tensor, values] of after) {
    const [old, own] = [before.get(tensor)!, policy.get(tensor)];
    for (const [i, found] of values.entries()) {
      const mixed = share === 0 ? 0 : share * own![i]!;
      const plain = (1 - share) * old[i]! + mixed;
      // Each factor, product and sum is rounded once; what is not mixed is not changed.
      const bound = share === 0 ? 0 : 3 * ROUNDING * (Math.abs(old[i]!) + Math.abs(mixed));
      yield { found, plain, bound, tensor };
    }
  }
}

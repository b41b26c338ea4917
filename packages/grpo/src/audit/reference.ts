import type { Tensor } from '@grpo/torch';
import { type SampledValues, sampledValues } from '../models/index.js';
import type { Trainer } from '../step/trainer.js';
import type { Comparison } from '../trace/index.js';
import type { FollowingMeasure, Measured } from './context.js';
import { ROUNDING } from './plain/plain-adamw.js';
import { type Pair, worstByQuantity, worstOf } from './worst.js';

/** Holds the reference after each update to what it was, and to the policy that is declared to be mixed into it. */
export class ReferenceAudit implements FollowingMeasure {
  readonly #comparisons: Comparison[] = [];
  /** The reference before the last update, and what that update may mix into it. */
  #mixed: { before: SampledValues; policy: SampledValues; share: number } | undefined;
  #before: SampledValues = new Map();

  constructor(private readonly trainer: Trainer) {}

  compared(): void {
    this.#before = this.#reference();
  }

  updateBegins(): void {
    this.#compare();
  }

  /** The reference follows the policy after this event, where it is declared to. */
  updated(): void {
    const { reference, optimizer, model, control, config } = this.trainer;
    if (!reference) return;
    const { referenceEvery, referenceMix } = config.kl;
    const isDue = referenceEvery > 0 && (control.updates + 1) % referenceEvery === 0;
    const state = optimizer.state();
    const masterOf = ([name, tensor]: [string, Tensor]) =>
      [name, state.get(`${name}.master`) ?? tensor] as const;
    this.#mixed = {
      before: this.#before,
      policy: isDue ? sampledValues(new Map([...model.decoder.trainable].map(masterOf))) : new Map(),
      share: isDue ? referenceMix : 0,
    };
  }

  done(): void {
    this.#compare();
  }

  get measured(): Measured[] {
    return [{ comparisons: worstByQuantity(this.#comparisons) }];
  }

  #compare(): void {
    if (!this.#mixed) return;
    const { before, policy, share } = this.#mixed;
    this.#mixed = undefined;
    this.#before = this.#reference();
    const pairs = mixedWeights(before, this.#before, policy, share);
    this.#comparisons.push(...worstOf('weights', 'weight of the reference', pairs));
  }

  /** Weights that may move: float32 where half-precision weights would round them away. */
  #reference(): SampledValues {
    const { reference, movingReference } = this.trainer;
    return reference ? sampledValues(movingReference?.masters ?? reference.trainable) : new Map();
  }
}

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

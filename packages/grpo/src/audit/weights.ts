import { checksumOf, weightsChecksum } from '../models/index.js';
import type { Batch } from '../step/batch.js';
import type { Trainer } from '../step/trainer.js';
import type { Comparison } from '../trace/index.js';
import type { FollowingMeasure, Measured } from './context.js';
import { explained, type Pair, worstByQuantity, worstOf } from './worst.js';

const HAND_OVER = 'weights';

/** Holds the weights that sample, and those of the reference, to what the step before left. */
export class WeightsAudit implements FollowingMeasure {
  readonly #comparisons: Comparison[] = [];

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
        const known = [
          { what: 'the weights that the run began with', sum: checksums.first },
          { what: 'the weights of the policy', sum: checksums.policy },
          { what: 'the weights of the reference', sum: checksums.reference },
        ].flatMap((one) =>
          one.sum === undefined ? [] : [{ what: one.what, pairs: [{ found, plain: one.sum, bound: 0 }] }],
        );
        const compared = worstOf(handOver, `checksum of the ${what}`, [{ found, plain, bound: 0 }]);
        this.#comparisons.push(...compared.map((one) => explained(one, known)));
      }
    }
  }

  get measured(): Measured[] {
    const comparisons = worstByQuantity(this.#comparisons);
    return comparisons.length > 0
      ? [{ comparisons }]
      : [{ handOver: HAND_OVER, missing: 'checksums of the weights' }];
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

/** Held to the gradients of the loss that trains, which finite differences and TRL's numbers hold. */
import { describe, expect, it } from 'vitest';
import { AGGREGATIONS, KL_ESTIMATORS, KL_LEVELS, POLICY_TERMS, RATIO_LEVELS } from '../../config/choices.js';
import { uniform } from '../../maths/random.js';
import {
  type Batch,
  CORRECTIONS,
  lossAndGradients,
  madeUpBatch,
  PLAIN,
} from '../../objective/batch.test.helper.js';
import type { LossSettings } from '../../objective/index.js';
import { lossSlopes } from './loss-slopes.js';
import type { LossRow } from './policy-slopes.js';

const ESTIMATORS = KL_ESTIMATORS.filter((estimator) => estimator !== 'full');

/** Settings that follow from the seed alone. */
function settingsOf(seed: number): LossSettings {
  let key = 100;
  const one = <T>(list: readonly T[]): T => list[Math.floor(uniform(seed, key++) * list.length)]!;
  return {
    ...PLAIN,
    policy: one(POLICY_TERMS),
    ratio: one(RATIO_LEVELS),
    aggregation: one(AGGREGATIONS),
    delta: one([undefined, 1.2, 2]),
    kl: {
      ...PLAIN.kl,
      estimator: one(ESTIMATORS),
      level: one(KL_LEVELS),
      biasCorrected: one([false, true]),
      clip: one([undefined, 0.3]),
    },
    entropy: { ...PLAIN.entropy, topShare: one([1, 1, 0.3, 0.6]) },
    offPolicyThreshold: one([undefined, undefined, 0.05]),
    correction: one(CORRECTIONS),
  };
}

function rowsOf(batch: Batch): LossRow[] {
  let start = 0;
  return batch.lengths.map((length, b) => {
    const own = (values: readonly number[]) => Float32Array.from(values.slice(start, start + length));
    const row: LossRow = {
      policy: own(batch.logprobs),
      entropies: own(batch.entropies),
      old: batch.old ? own(batch.old) : undefined,
      reference: own(batch.reference),
      sampler: own(batch.sampler),
      mask: batch.mask?.slice(start, start + length),
      advantage: batch.advantages[b]!,
      beta: batch.betas[b]!,
    };
    start += length;
    return row;
  });
}

const declaredOf = ({ kl, entropy, correction, ...objective }: LossSettings) => ({
  objective,
  kl,
  entropy,
  correction,
});

const SEEDS = Array.from({ length: 400 }, (_, seed) => seed);

describe('the slopes of the declared loss', () => {
  it('are its gradients, whatever is declared', () => {
    let compared = 0;
    for (const seed of SEEDS) {
      const settings = settingsOf(seed);
      const batch = madeUpBatch(seed, { masked: seed % 3 > 0, lengths: [3, 1, 4] });
      if (seed % 5 === 0) batch.old = null;
      const coefficient = seed % 2 === 0 ? 0 : 0.02;
      const rows = rowsOf(batch);
      const trained = rows.map(({ mask, policy }) => mask?.reduce((a, b) => a + b, 0) ?? policy.length);
      const slopes = lossSlopes(declaredOf(settings), rows, {
        sizes: [rows.length],
        trained,
        entropyCoefficient: coefficient,
      });
      // Rounding decides at a bound: of these draws few.
      if (typeof slopes === 'string') continue;
      compared++;
      const { gradients } = lossAndGradients(batch, settings, { entropyCoefficient: coefficient });
      const largest = Math.max(...gradients.logprobs.map(Math.abs));
      for (const key of ['logprobs', 'entropies'] as const) {
        const found = slopes.flatMap((row) => [...row[key]]);
        for (const [t, slope] of found.entries())
          expect(Math.abs(slope - gradients[key][t]!), `seed ${seed}, ${key} ${t}`).toBeLessThan(
            1e-5 * Math.max(1, largest),
          );
      }
    }
    expect(compared).toBeGreaterThan(350);
  });
});

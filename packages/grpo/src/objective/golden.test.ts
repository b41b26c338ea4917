import { type Tensor, tidy } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { advantagesOf } from './advantage.js';
import { PLAIN } from './advantage.test.helper.js';
import { type AdvantageCase, fixtures, type LossCase, lossInput, unpadded } from './golden.test.helper.js';
import { composedLoss } from './loss.js';
import type { AdvantageSettings } from './settings.js';

const furthest = (ours: readonly number[], theirs: readonly number[]) => {
  expect(ours.length).toBe(theirs.length);
  return ours.reduce((most, x, i) => Math.max(most, Math.abs(x - theirs[i]!)), 0);
};

/** Loss that TRL's gmpo adds for rows without a token: our batches have no such rows. */
const emptyRows = ({ trainer, advantages, completionMask }: LossCase) =>
  trainer === 'experimental.gmpo'
    ? -advantages.reduce((sum, a, b) => sum + (completionMask[b]!.includes(1) ? 0 : a), 0) / advantages.length
    : 0;

/** Our sampler always has a log-prob. */
const isOurs = ({ samplingLogps }: LossCase) => !samplingLogps?.flat().includes(null);

describe("losses against TRL's code, in float64", () => {
  const cases = fixtures.cases.filter(isOurs);

  it('cover what TRL offers', () => {
    expect(cases.length).toBeGreaterThan(180);
    expect(new Set(cases.map(({ loss_type }) => loss_type)).size).toBe(8);
  });

  it.each(cases.map((c) => [c.name, c] as const))('%s', (_, c) => {
    tidy(() => {
      const input = lossInput(c);
      const { loss, metrics } = composedLoss(input);
      expect(Math.abs(loss.item() - c.expectedLoss + emptyRows(c))).toBeLessThan(1e-10);
      if (loss.requiresGrad) loss.backward();
      const gradient = (input.logprobs_T.grad as Tensor | null)?.toNumbers();
      expect(
        furthest(gradient ?? [], unpadded(c.expectedGradient, c).slice(0, gradient?.length ?? 0)),
      ).toBeLessThan(1e-10);
      if (c.expectedEntropyGradient) {
        const entropies = (input.entropies_T.grad as Tensor).toNumbers();
        expect(furthest(entropies, unpadded(c.expectedEntropyGradient, c))).toBeLessThan(1e-10);
      }
      if (input.settings.policy === 'gmpo') return;
      const means = Object.entries(metrics.means).map(([name, { sum, of }]) => [name, sum / Math.max(of, 1)]);
      const ours: [string, number][] = Object.entries({
        ...Object.fromEntries(means),
        ...metrics.least,
        ...metrics.most,
      });
      // Not all of ours are TRL's.
      for (const [name, value] of ours.filter(
        ([name, value]) => name in c.expectedMetrics && Number.isFinite(value),
      ))
        expect([name, value]).toEqual([name, expect.closeTo(c.expectedMetrics[name]!, 7)]);
    });
  });
});

describe("advantages against TRL's code", () => {
  const settingsOf = (c: AdvantageCase, compat?: 'trl'): AdvantageSettings => ({
    ...PLAIN,
    scale: c.scale_rewards,
    combine: c.multi_objective_aggregation,
    compat,
  });

  const columnsOf = (c: AdvantageCase) => {
    const columns = c.reward_weights.map((_, k) =>
      Float64Array.from(c.rewardsPerFunction, (row) => row[k] ?? Number.NaN),
    );
    const totals = Float64Array.from(c.rewardsPerFunction, (row) =>
      row.every((r) => r === null)
        ? Number.NaN
        : row.reduce<number>((sum, r, k) => sum + (r ?? 0) * c.reward_weights[k]!, 0),
    );
    return { columns, weights: c.reward_weights, totals };
  };

  const groupOf = (values: Float64Array, b: number, size: number) =>
    values.subarray(b - (b % size), b - (b % size) + size);

  it.each(fixtures.advantageCases.map((c, i) => [`${i}: ${c.name}, ${c.dtype}`, c] as const))(
    '%s',
    (_, c) => {
      const rewards = columnsOf(c);
      const size = c.num_generations;
      const ours = advantagesOf(rewards, size, settingsOf(c));
      for (const [b, theirs] of c.expectedAdvantages.entries()) {
        const group = groupOf(rewards.totals, b, size);
        // Where all rewards are equal TRL leaks the rounding of the mean; ours is exactly 0.
        if (
          group.every((reward) => reward === group[0]) &&
          c.multi_objective_aggregation === 'sum_then_normalize'
        )
          expect(ours.advantages[b]).toBe(0);
        else
          expect(Math.abs(ours.advantages[b]! - theirs)).toBeLessThan(c.dtype === 'float64' ? 1e-10 : 1e-4);
      }
    },
  );

  const leaks = fixtures.advantageCases.filter((c) => c.dtype === 'float32');
  it.each(leaks.map((c, i) => [`${i}: ${c.name}`, c] as const))('compat trl leaks as TRL: %s', (_, c) => {
    const { advantages } = advantagesOf(columnsOf(c), c.num_generations, settingsOf(c, 'trl'));
    expect(furthest([...advantages], c.expectedAdvantages)).toBeLessThan(1e-6);
    expect(c.expectedAdvantages.some((advantage) => advantage !== 0)).toBe(true);
  });
});

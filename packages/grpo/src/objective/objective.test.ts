import { readFileSync } from 'node:fs';
import { type Tensor, tensor, tidy } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { groupAdvantages, type RewardScale } from './advantage.js';
import { type LossName, losses } from './loss.js';

interface AdvantageCase {
  name: string;
  weights: number[];
  groupSize: number;
  rewards: (number | null)[][];
  scale: RewardScale;
  advantages: number[];
}

interface LossCase {
  name: string;
  loss: LossName;
  beta: number;
  epsilonLow: number;
  epsilonHigh: number;
  accumulationSteps: number;
  logps: number[][];
  oldLogps: number[][] | null;
  refLogps: number[][];
  mask: number[][];
  advantages: number[];
  windowTokens: number;
  expectedLoss: number;
  expectedGradient: number[][];
  expectedMetrics: Record<string, number | null>;
}

const fixtures = JSON.parse(
  readFileSync(new URL('../../../../parity/fixtures/objective.json', import.meta.url), 'utf8'),
) as { advantages: AdvantageCase[]; losses: LossCase[] };

describe('group advantages against TRL', () => {
  it.each(fixtures.advantages.map((c) => [`${c.name}, ${c.scale}`, c] as const))('%s', (_, c) => {
    const totals = Float64Array.from(c.rewards, (row) =>
      row.every((r) => r === null)
        ? Number.NaN
        : row.reduce<number>((sum, r, k) => sum + (r ?? 0) * c.weights[k]!, 0),
    );
    const { advantages } = groupAdvantages(totals, c.groupSize, c.scale);
    for (const [i, expected] of c.advantages.entries()) {
      const group = totals.subarray(
        Math.floor(i / c.groupSize) * c.groupSize,
        (Math.floor(i / c.groupSize) + 1) * c.groupSize,
      );
      // Where all rewards are equal TRL leaks the rounding of the mean; ours is exactly 0.
      if (group.every((r) => r === group[0])) expect(advantages[i]).toBe(0);
      else expect(Math.abs(advantages[i]! - expected)).toBeLessThan(1e-10);
    }
  });

  it('gives exactly 0 for equal rewards that are no dyadic fractions', () => {
    expect([...groupAdvantages(new Float64Array(8).fill(0.2), 8, 'group').advantages]).toEqual(
      Array(8).fill(0),
    );
  });

  it('leaves out what could not be scored', () => {
    const { advantages, zeroVariance } = groupAdvantages(Float64Array.of(1, Number.NaN, 0, 1), 4, 'none');
    expect([...advantages]).toEqual([1 / 3, 0, -2 / 3, 1 / 3].map((x) => expect.closeTo(x, 12)));
    expect(zeroVariance).toBe(0);
  });
});

describe('losses against TRL, in float64', () => {
  it.each(fixtures.losses.map((c) => [c.name, c] as const))('%s', (_, c) => {
    const rows = c.mask.map((row) => row.reduce((a, b) => a + b, 0));
    // Packed: the tokens under the mask, row after row.
    const pick = (values: number[][]) => values.flatMap((row, i) => row.slice(0, rows[i]));
    const wide = (values: number[]) => tensor(Float64Array.from(values));
    const { loss, gradient, metrics } = tidy(() => {
      const logprobs_T = wide(pick(c.logps));
      logprobs_T.requiresGrad = true;
      const out = losses[c.loss]({
        logprobs_T,
        oldLogprobs_T: c.oldLogps && wide(pick(c.oldLogps)),
        referenceLogprobs_T: wide(pick(c.refLogps)),
        advantages_T: wide(rows.flatMap((n, i) => Array<number>(n).fill(c.advantages[i]!))),
        lengths: rows,
        update: { completions: rows.length * c.accumulationSteps, tokens: c.windowTokens },
        clipLow: c.epsilonLow,
        clipHigh: c.epsilonHigh,
        beta: c.beta,
      });
      if (logprobs_T.numel > 0) out.loss.backward();
      return {
        loss: out.loss.item(),
        gradient: (logprobs_T.grad as Tensor | null)?.toNumbers() ?? [],
        metrics: out.metrics,
      };
    });
    expect(Math.abs(loss - c.expectedLoss)).toBeLessThan(1e-10);
    const expected = pick(c.expectedGradient);
    expect(gradient.length).toBe(expected.length);
    for (const [i, g] of gradient.entries()) expect(Math.abs(g - expected[i]!)).toBeLessThan(1e-10);
    const m = c.expectedMetrics;
    const tokens = Math.max(metrics.tokens, 1);
    if (c.beta !== 0) expect(metrics.kl / tokens).toBeCloseTo(m.kl!, 6);
    expect(metrics.clippedLow / tokens).toBeCloseTo(m['clip_ratio/low_mean']!, 6);
    expect(metrics.clippedHigh / tokens).toBeCloseTo(m['clip_ratio/high_mean']!, 6);
  });
});

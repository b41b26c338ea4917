/** Losses that TRL has not, held to PyTorch's autograd in float64 (`parity/make_off_policy_fixtures.py`). */
import { readFileSync } from 'node:fs';
import { type Tensor, tidy } from '@grpo/torch';
import { describe, expect, it } from 'vitest';
import { tensor } from '../device.test.helper.js';
import { advantagesOf } from './advantage.js';
import { PLAIN as PLAIN_ADVANTAGE, single } from './advantage.test.helper.js';
import { PLAIN } from './batch.test.helper.js';
import { composedLoss } from './loss.js';
import type { LossSettings } from './settings.js';

interface Case {
  name: string;
  settings: Partial<Omit<LossSettings, 'correction'>> & { correction?: Partial<LossSettings['correction']> };
  /** Padded rows, as all that follows. */
  logps: number[][];
  old: number[][];
  sampling: number[][];
  mask: number[][];
  advantages: number[];
  expectedLoss: number;
  expectedGradient: number[][];
}

const { cases, maxrl } = JSON.parse(
  readFileSync(new URL('../../../../parity/fixtures/off-policy.json', import.meta.url), 'utf8'),
) as { cases: Case[]; maxrl: { rewards: number[][]; expectedAdvantages: number[][] } };

describe("losses against PyTorch's autograd", () => {
  it.each(cases.map((c) => [c.name, c] as const))('%s', (_, c) => {
    tidy(() => {
      const unpadded = (rows: readonly number[][]) =>
        rows.flatMap((row, b) => row.filter((__, t) => c.mask[b]![t] === 1));
      const wide = (rows: readonly number[][]) => tensor(Float64Array.from(unpadded(rows)));
      const logprobs_T = wide(c.logps);
      logprobs_T.requiresGrad = true;
      const lengths = c.mask.map((row) => row.reduce((a, b) => a + b, 0));
      const { loss } = composedLoss({
        logprobs_T,
        entropies_T: logprobs_T.detach().neg(),
        oldLogprobs_T: wide(c.old),
        referenceLogprobs_T: null,
        samplerLogprobs_T: wide(c.sampling),
        fullKl_T: null,
        advantages: c.advantages,
        lengths,
        mask: null,
        update: { completions: lengths.length, tokens: lengths.reduce((a, b) => a + b, 0) },
        betas: lengths.map(() => 0),
        entropyCoefficient: 0,
        settings: {
          ...PLAIN,
          ...c.settings,
          aggregation: 'token_mean',
          correction: { ...PLAIN.correction, ...c.settings.correction },
        },
      });
      expect(Math.abs(loss.item() - c.expectedLoss)).toBeLessThan(1e-12);
      loss.backward();
      const gradient = (logprobs_T.grad as Tensor).toNumbers();
      const expected = unpadded(c.expectedGradient);
      expect(gradient).toEqual(expected.map((x) => expect.closeTo(x, 12)));
      // A case in which all tokens stay, or none does, says little.
      expect(new Set(expected.map((x) => x === 0)).size).toBe(2);
    });
  });
});

it('MaxRL’s advantages are those of its algorithm', () => {
  for (const [g, rewards] of maxrl.rewards.entries()) {
    const { advantages } = advantagesOf(single(rewards), rewards.length, {
      ...PLAIN_ADVANTAGE,
      scale: 'mean',
    });
    expect([...advantages]).toEqual(maxrl.expectedAdvantages[g]!.map((x) => expect.closeTo(x, 12)));
  }
});

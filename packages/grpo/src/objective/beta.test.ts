import { describe, expect, it } from 'vitest';
import { type BetaSettings, type BetaState, nextBeta, warmedUp } from './beta.js';

const settings = (changes: Partial<BetaSettings>): BetaSettings => ({
  control: 'adaptive',
  target: 0.1,
  band: 0.05,
  up: 1.1,
  down: 0.9,
  rate: 0.1,
  least: 0,
  window: 1,
  ...changes,
});

/** β after each of the steps. */
function course(beta: number, kls: readonly number[], options: BetaSettings): number[] {
  let state: BetaState = { beta, recent: [] };
  return kls.map((kl) => {
    state = nextBeta(state, kl, options);
    return state.beta;
  });
}

const close = (values: readonly number[]) => values.map((value) => expect.closeTo(value, 12));

describe('β', () => {
  it('that is fixed stays, whatever the KL', () => {
    expect(course(0.04, [0, 1, 50], settings({ control: 'fixed', most: 0.01 }))).toEqual([0.04, 0.04, 0.04]);
  });

  it('that adapts is multiplied outside of the band, and bounded, as in rookworld-trl', () => {
    const kls = [0.106, 0.106, 0.106, 0.104, 0.096, 0.094];
    const expected = [0.044, 0.0484, 0.05, 0.05, 0.05, 0.045];
    expect(course(0.04, kls, settings({ most: 0.05 }))).toEqual(close(expected));
    expect(course(0.04, [0.2, 0.05], settings({ down: 1 / 1.1 }))).toEqual(close([0.044, 0.04]));
    expect(course(0.02, [0, 0], settings({ least: 0.019 }))).toEqual([0.019, 0.019]);
  });

  it('that adapts has the band and the factors of grpo-dual when told so', () => {
    const options = settings({ band: 0.2, up: 1.15, down: 0.85 });
    expect(course(0.05, [0.119, 0.121, 0.081, 0.079], options)).toEqual(
      close([0.05, 0.0575, 0.0575, 0.048875]),
    );
  });

  it('comes to rest where the KL is on target, for it follows the KL and not β × KL', () => {
    const options = settings({});
    let state: BetaState = { beta: 0.02, recent: [] };
    const betas: number[] = [];
    for (let step = 0; step < 60; step++) {
      state = nextBeta(state, 0.01 / state.beta, options);
      betas.push(state.beta);
    }
    // The KL is 0.01 / β, so a β of 0.1 brings it to the target; β × KL is 0.01 whatever β is.
    expect(new Set(betas.slice(-20)).size).toBe(1);
    expect(0.01 / betas.at(-1)!).toBeGreaterThan(0.095);
    expect(0.01 / betas.at(-1)!).toBeLessThan(0.105);
  });

  it('of a Lagrangian moves by the distance from the target, as in seed 002', () => {
    const options = settings({ control: 'lagrangian', least: 0.01 });
    // 0.05 + 0.1 × 0.2; 0.07 − 0.1 × 0.1, three times; 0.1 × 7.9; then down to its bound.
    expect(course(0.05, [0.3, 0, 0, 0, 8], options)).toEqual(close([0.07, 0.06, 0.05, 0.04, 0.83]));
    expect(course(0.015, [0], options)).toEqual([0.01]);
  });

  it('follows the median of the last steps', () => {
    const options = settings({ control: 'lagrangian', window: 3 });
    // Medians: 1; (1 + 0.1) / 2; 0.2; and without the first 0.1.
    const expected = [0.14, 0.185, 0.195, 0.195];
    expect(course(0.05, [1, 0.1, 0.2, 0.05], options)).toEqual(close(expected));
    expect(nextBeta({ beta: 0, recent: [3, 1, 2] }, 5, options).recent).toEqual([1, 2, 5]);
  });
});

describe('the warm-up of β', () => {
  const course = (warmup: 'linear' | 'zero') =>
    [0, 1, 2, 3, 4, 5].map((step) => warmedUp(0.1, step, { warmupSteps: 4, warmup }));

  it('rises in a line from 0', () => {
    expect(course('linear')).toEqual(close([0, 0.025, 0.05, 0.075, 0.1, 0.1]));
  });

  it('is without a KL, as in rookworld-trl', () => {
    expect(course('zero')).toEqual([0, 0, 0, 0, 0.1, 0.1]);
  });

  it('of no steps is none', () => {
    expect(warmedUp(0.1, 0, { warmupSteps: 0, warmup: 'linear' })).toBe(0.1);
  });
});

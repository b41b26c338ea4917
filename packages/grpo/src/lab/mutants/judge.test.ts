import { describe, expect, it } from 'vitest';
import { effectOf, isAnotherDraw } from './judge.js';
import type { RunSummary } from './summary.js';

const clean: RunSummary = {
  completions: ['c1', 'c2', 'c3'],
  weights: ['w1', 'w2', 'w3'],
  final: Float32Array.of(3, 4),
  statistics: { reward: 0.5, entropy: 1 },
};
const others = [0.48, 0.5, 0.52, 0.49, 0.51].map((reward, i) => ({ reward, entropy: 1 + i / 100 }));
const baseline = { clean, otherThreads: { ...clean, final: Float32Array.of(3, 4.0001) }, others };
const effect = (run: Partial<RunSummary>) => effectOf({ ...clean, ...run }, baseline);

describe('the effect of a mutant', () => {
  it('is none up to ten times that of another number of threads', () => {
    expect(effect({})).toBe('none');
    expect(effect({ final: Float32Array.of(3, 4.0009) })).toBe('none');
    expect(effect({ final: Float32Array.of(3, 4.0011), weights: ['w1', 'w2', 'x'] })).toBe('wrong');
    expect(effect({ final: Float32Array.of(3) })).toBe('wrong');
    expect(effect({ final: Float32Array.of(3, Number.NaN) })).toBe('wrong');
  });

  it('is none where rounding alone could have made it, if threads change nothing', () => {
    const same = { ...baseline, otherThreads: clean };
    const run = (last: number) => effectOf({ ...clean, final: Float32Array.of(3, last) }, same);
    expect(run(4.000005)).toBe('none');
    expect(run(4.00001)).toBe('wrong');
  });

  it('is another draw where completions differ first, and statistics as between seeds', () => {
    const draws = { completions: ['c1', 'x', 'x'], weights: ['w1', 'x', 'x'], final: Float32Array.of(4, 3) };
    expect(effect(draws)).toBe('another draw');
    expect(effect({ ...draws, statistics: { reward: 0.9, entropy: 1 } })).toBe('wrong');
    // The weights of step 1 differ, and only then the completions of step 2.
    expect(effect({ ...draws, weights: ['x', 'x', 'x'] })).toBe('wrong');
    expect(effect({ ...draws, completions: clean.completions })).toBe('wrong');
  });
});

describe('another draw', () => {
  it('has every statistic that the others have, and no more', () => {
    expect(isAnotherDraw({ reward: 0.5, entropy: 1.02 }, others)).toBe(true);
    expect(isAnotherDraw({ reward: 0.5 }, others)).toBe(false);
    expect(isAnotherDraw({ reward: 0.5, entropy: 1, kl: 0 }, others)).toBe(false);
    expect(isAnotherDraw({ reward: 0.5, entropy: 1 }, [...others, { reward: 0.5, entropy: 1, kl: 0 }])).toBe(
      true,
    );
  });

  it('may have an event that no other has, but not often', () => {
    const constant = others.map(() => ({ flat: 0 }));
    expect(isAnotherDraw({ flat: 0.05 }, constant)).toBe(true);
    expect(isAnotherDraw({ flat: 0.15 }, constant)).toBe(false);
  });

  it('is far from no seed: eight of its deviations are too far', () => {
    // Mean 0.5, deviation 0.0158 of five, widened by √(1 + 1/5).
    expect(isAnotherDraw({ reward: 0.63, entropy: 1 }, others)).toBe(true);
    expect(isAnotherDraw({ reward: 0.65, entropy: 1 }, others)).toBe(false);
  });
});

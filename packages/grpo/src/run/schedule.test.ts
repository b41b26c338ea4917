import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Config, configSchema } from '../config/schema.js';
import { learningRateAt } from './schedule.js';

type Options = Config['optimizer'];

const optionsOf = (changes: Partial<Options>): Options => ({
  ...configSchema.parse({}).optimizer,
  learningRate: 1,
  ...changes,
});

const course = (changes: Partial<Options>, steps: number) =>
  Array.from({ length: steps }, (_, step) => learningRateAt(optionsOf(changes), step, steps));

const close = (values: readonly number[]) => values.map((x) => expect.closeTo(x, 12));

describe('the learning rate', () => {
  it('is constant unless told otherwise', () => {
    expect(course({ learningRate: 3e-4 }, 4)).toEqual(Array(4).fill(3e-4));
  });

  it('rises over the warm-up, its last step at the full rate', () => {
    expect(course({ warmupSteps: 4 }, 6)).toEqual([0.25, 0.5, 0.75, 1, 1, 1]);
    expect(course({ warmupSteps: 3, schedule: 'linear' }, 3)).toEqual(close([1 / 3, 2 / 3, 1]));
  });

  it('falls in a line, to reach 0 after the last step', () => {
    expect(course({ schedule: 'linear' }, 4)).toEqual([1, 0.75, 0.5, 0.25]);
    expect(course({ schedule: 'linear', warmupSteps: 2 }, 6)).toEqual([0.5, 1, 1, 0.75, 0.5, 0.25]);
    expect(learningRateAt(optionsOf({ schedule: 'linear', warmupSteps: 2 }), 6, 6)).toBe(0);
  });

  it('falls along half a cosine, to reach 0 after the last step', () => {
    const half = Math.SQRT1_2 / 2;
    expect(course({ schedule: 'cosine' }, 4)).toEqual(close([1, 0.5 + half, 0.5, 0.5 - half]));
    expect(learningRateAt(optionsOf({ schedule: 'cosine' }), 4, 4)).toBeCloseTo(0, 12);
  });

  it('falls in steps, as in rookworld-trl', () => {
    expect(course({ schedule: 'step' }, 6)).toEqual([1, 1, 0.5, 0.5, 0.25, 0.25]);
    expect(course({ schedule: 'step', warmupSteps: 1 }, 4)).toEqual([1, 1, 0.5, 0.25]);
  });

  it('of the advanced schedule of rookworld-trl falls along a cosine to 5 %, then in a line', () => {
    // cos(π/7 · k), and at 0.7 of the way the line begins: 0.05 × 3/3, 2/3, 1/3.
    const cosine = [1, 2, 3, 4, 5, 6].map((k) => 0.05 + 0.475 * (1 + Math.cos((Math.PI * k) / 7)));
    const expected = [1, ...cosine, 0.05, 0.1 / 3, 0.05 / 3];
    expect(course({ schedule: 'advanced' }, 10)).toEqual(close(expected));
    expect(learningRateAt(optionsOf({ schedule: 'advanced' }), 10, 10)).toBeCloseTo(0, 12);
  });

  it('falls to its floor in place of 0', () => {
    // 1e-5 along a cosine to 1e-6; half of the way it is halfway between.
    const options = { learningRate: 1e-5, minLearningRate: 1e-6, schedule: 'cosine' as const };
    expect(course(options, 4)[2]).toBeCloseTo(5.5e-6, 15);
    expect(learningRateAt(optionsOf(options), 4, 4)).toBeCloseTo(1e-6, 15);
    expect(course({ minLearningRate: 0.2, schedule: 'linear' }, 4)).toEqual(close([1, 0.8, 0.6, 0.4]));
    expect(course({ minLearningRate: 0.2, schedule: 'step' }, 3)).toEqual(close([1, 0.6, 0.4]));
    expect(course({ ...options, warmupSteps: 2 }, 2)).toEqual([5e-6, 1e-5]);
  });

  it('rises, then never rises again, between 0 and the full rate', () => {
    const options = fc.record({
      schedule: fc.constantFrom(...(['constant', 'linear', 'cosine', 'step', 'advanced'] as const)),
      warmupSteps: fc.nat(20),
      learningRate: fc.double({ min: 1e-9, max: 10, noNaN: true }),
    });
    fc.assert(
      fc.property(options, fc.integer({ min: 1, max: 60 }), (changes, more) => {
        const rates = course(changes, changes.warmupSteps + more);
        for (const [step, rate] of rates.entries()) {
          expect(rate).toBeGreaterThan(0);
          expect(rate).toBeLessThanOrEqual(changes.learningRate);
          if (step === 0) continue;
          if (step < changes.warmupSteps) expect(rate).toBeGreaterThan(rates[step - 1]!);
          if (step > changes.warmupSteps) expect(rate).toBeLessThanOrEqual(rates[step - 1]!);
        }
        expect(Math.max(...rates)).toBe(changes.learningRate);
      }),
    );
  });
});

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type EntropyState, entropyWeight, nextEntropy } from './entropy-control.js';

interface Course {
  name: string;
  entropy_coef: number;
  entropy_coef_min: number;
  entropy_coef_max: number;
  entropy_coef_delta: number;
  entropy_target: number;
  /** An update each; its micro-batches are padded. */
  windows: {
    entropies: number[][][];
    masks: number[][][];
    expectedAppliedCoef: number;
    expectedWorldEntropy: number;
    expectedCoef: number;
  }[];
}

const fixture = new URL('../../../../parity/fixtures/objective.json', import.meta.url);
const { adaptiveEntropy } = JSON.parse(readFileSync(fixture, 'utf8')) as { adaptiveEntropy: Course[] };

describe('the adaptive entropy bonus', () => {
  it.each(adaptiveEntropy)('has the course of TRL: $name', (course) => {
    const control = {
      adaptive: true,
      target: course.entropy_target,
      delta: course.entropy_coef_delta,
      least: course.entropy_coef_min,
      most: course.entropy_coef_max,
    };
    let state: EntropyState = { coefficient: course.entropy_coef, last: null };
    const ours = course.windows.map(({ entropies, masks }) => {
      const applied = entropyWeight(state, control);
      const values = entropies.flat(2);
      const trained = values.filter((_, i) => masks.flat(2)[i] === 1);
      state = nextEntropy(state, trained.reduce((a, b) => a + b, 0) / trained.length, control);
      return [applied, state.last, state.coefficient];
    });
    const theirs = course.windows.map((w) => [w.expectedAppliedCoef, w.expectedWorldEntropy, w.expectedCoef]);
    expect(ours).toEqual(theirs.map((row) => row.map((value) => expect.closeTo(value, 10))));
    // The course has every turn: off and on, up and down, and both bounds.
    expect(new Set(theirs.map(([applied]) => applied === 0)).size).toBe(2);
    expect(theirs.map(([, , coefficient]) => coefficient)).toContain(control.most);
    expect(theirs.map(([, , coefficient]) => coefficient)).toContain(control.least);
  });

  it('is none before the first update, and stays where it is not adaptive', () => {
    const control = { adaptive: true, target: 1, delta: 0.1, least: 0, most: 1 };
    const state = { coefficient: 0.5, last: null };
    expect(entropyWeight(state, control)).toBe(0);
    const fixed = { ...control, adaptive: false };
    expect(entropyWeight(nextEntropy(state, 9, fixed), fixed)).toBe(0.5);
  });
});

import { expect, it } from 'vitest';
import { problemsToTell } from './sample-size.js';

// statsmodels 0.15: samplesize_proportions_2indep_onetail(0.05, p, power=0.8, alternative='two-sided'), whose variance
// under the hypothesis is pooled: it differs by less than 1 %.
it.each([
  [0.5, 1564.67],
  [0.25, 1250.72],
  [0.1, 685.5],
])('a difference of 5 points from %d takes as many problems as statsmodels says', (accuracy, expected) => {
  expect(problemsToTell(accuracy, 0.05) / expected).toBeCloseTo(1, 2);
  expect(problemsToTell(1 - accuracy, 0.05)).toBe(problemsToTell(accuracy, 0.05));
});

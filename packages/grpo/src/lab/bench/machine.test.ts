import { expect, it } from 'vitest';
import { stolenIn } from './machine.js';

it('finds the time that the host kept, in the line of all cores', () => {
  const stat = 'cpu  1734637 112754 259586 321479 5260 0 2447 4610 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n';
  expect(stolenIn(stat)).toBe(46.1);
  expect(stolenIn('cpu  1 2 3 4')).toBe(0);
});

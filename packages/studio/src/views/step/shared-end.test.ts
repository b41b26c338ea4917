import { expect, it } from 'vitest';
import { sharedEnd } from './shared-end.js';

const START = 'Let us think about it: ';

it('folds at the end of a word', () => {
  expect(sharedEnd(`${START}1234`, START.length + 2)).toBe(START.length);
  expect(sharedEnd(`${START}12 34`, START.length + 2)).toBe(START.length + 2);
  expect(sharedEnd(START, START.length)).toBe(START.length);
});

it('leaves a short beginning where it is', () => {
  expect(sharedEnd('It is 5', 6)).toBe(0);
  expect(sharedEnd(`short ${'x'.repeat(60)}`, 50)).toBe(0);
});

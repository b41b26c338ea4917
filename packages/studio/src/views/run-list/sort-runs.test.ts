import type { RunEntry } from 'grpo/studio';
import { expect, it } from 'vitest';
import { orderText, parseOrder, sortRuns } from './sort-runs.js';

const run = (name: string, more: Partial<RunEntry> = {}): RunEntry => ({
  id: `/${name}`,
  name,
  kind: 'run folder of grpo',
  state: 'finished',
  ...more,
});

const RUNS = [
  run('run-10', { reward: 0.5, step: 3, modified: 1, findings: { fail: 0, warn: 9 } }),
  run('run-9', { reward: Number.NaN, state: 'running', modified: 3, findings: { fail: 1, warn: 0 } }),
  run('log', { kind: 'verl console log', state: 'unknown', reward: -1, modified: 2 }),
];

const sorted = (order: string | undefined, filter = '') =>
  sortRuns(RUNS, parseOrder(order), filter).map(({ name }) => name);

it('begins with the run that changed last', () => {
  expect(sorted(undefined)).toEqual(['run-9', 'log', 'run-10']);
  expect(sorted('not a column')).toEqual(['run-9', 'log', 'run-10']);
});

it('sorts numbers from the largest, words from A, and both the other way', () => {
  expect(sorted('name')).toEqual(['log', 'run-9', 'run-10']);
  expect(sorted('-name')).toEqual(['run-10', 'run-9', 'log']);
  expect(sorted('state')).toEqual(['run-9', 'run-10', 'log']);
  expect(sorted('findings')).toEqual(['run-9', 'run-10', 'log']);
});

it('puts runs without the value last, in both directions', () => {
  expect(sorted('reward')).toEqual(['run-10', 'log', 'run-9']);
  expect(sorted('-reward')).toEqual(['log', 'run-10', 'run-9']);
  expect(sorted('-step')).toEqual(['run-10', 'log', 'run-9']);
});

it('keeps runs that have all words', () => {
  expect(sorted('name', 'VERL log')).toEqual(['log']);
  expect(sorted('name', 'running')).toEqual(['run-9']);
  expect(sorted('name', 'run grpo 10')).toEqual(['run-10']);
  expect(sorted('name', 'verl grpo')).toEqual([]);
});

it('stands in the address as it was read', () => {
  for (const text of ['reward', '-reward']) expect(orderText(parseOrder(text))).toBe(text);
});

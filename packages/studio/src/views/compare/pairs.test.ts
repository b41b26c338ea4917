import type { StepAnswer } from 'grpo/studio';
import { expect, it } from 'vitest';
import { change, pairRows } from './pairs.js';

const view = (texts: readonly [number, string, number?][]) =>
  ({
    completions: texts.map(([prompt, text, total = 0], index) => ({
      name: String(index),
      index,
      prompt,
      text,
      total,
    })),
  }) as unknown as StepAnswer['view'];

const here = view([
  [0, 'a'],
  [0, 'b'],
  [1, 'c', Number.NaN],
]);
const there = view([
  [0, 'c', Number.NaN],
  [2, 'a'],
  [2, 'B'],
  [2, 'new'],
]);
const prompts = [
  { text: 'first', here: 0, there: 2 },
  { text: 'second', here: 1, there: 0 },
];
const names = (onlyDifferent: boolean) =>
  pairRows(prompts, here, there, onlyDifferent).map((row) =>
    row.kind === 'prompt'
      ? `${row.text} ${row.different} of ${row.pairs}`
      : `${row.here?.text ?? '–'} ${row.there?.text ?? '–'}`,
  );

it('puts the completions of a prompt side by side, place by place', () => {
  expect(names(false)).toEqual(['first 2 of 3', 'a a', 'b B', '– new', 'second 0 of 1', 'c c']);
});

it('leaves out what is the same; NaN on both sides is', () => {
  expect(names(true)).toEqual(['first 2 of 3', 'b B', '– new']);
});

it('has no change where a side is missing', () => {
  expect(change(1, 3)).toBe(2);
  expect(change(undefined, 3)).toBe(undefined);
});

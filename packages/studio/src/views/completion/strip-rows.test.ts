import type { CompletionAnswer } from 'grpo/studio';
import { expect, it } from 'vitest';
import type { TokenText } from '../../parts/token-text.js';
import { SOURCES } from './measures.js';
import { placeAfter, rowOf, sequenceOf, stripRows } from './strip-rows.js';

const token = (width: number, endsLine = false): TokenText => ({ shown: '', width, endsLine, kind: 'text' });

function answer(prompt: number, count: number, more: Partial<CompletionAnswer> = {}): CompletionAnswer {
  return {
    step: 1,
    name: '0.0',
    prompt: 0,
    promptIds: Int32Array.from({ length: prompt }, (_, i) => i),
    updates: 1,
    update: 0,
    columns: { ids: Int32Array.from({ length: count }, (_, i) => 100 + i) },
    count,
    pieces: new Map(),
    group: [],
    settings: {},
    ...more,
  };
}

const wide = { columns: 20, isPromptWhole: true };

it('breaks lines where the width is used up and after newlines, and loses no token', () => {
  const one = answer(2, 9, { finish: 'length' });
  const sequence = sequenceOf(one);
  const rows = stripRows(one, sequence, (place) => token(5, place === 7), wide);
  expect(rows).toEqual([
    { kind: 'part', text: 'prompt' },
    { kind: 'line', start: 0, end: 2 },
    { kind: 'boundary', count: 9 },
    { kind: 'line', start: 2, end: 5 },
    { kind: 'line', start: 5, end: 8 },
    { kind: 'line', start: 8, end: 11 },
    { kind: 'part', text: 'cut off: the length was used up' },
  ]);
});

it('gives a token that is wider than a line a line of its own', () => {
  const one = answer(0, 3);
  const rows = stripRows(one, sequenceOf(one), (place) => token(place === 1 ? 50 : 2), wide);
  expect(rows.flatMap((row) => (row.kind === 'line' ? [[row.start, row.end]] : []))).toEqual([
    [0, 1],
    [1, 2],
    [2, 3],
  ]);
});

it('names the parts of a prompt, and tells the template from the messages', () => {
  const one = answer(10, 1, {
    promptSpans: [
      { kind: 'prompt', start: 0, end: 10 },
      { kind: 'message', role: 'system', start: 1, end: 4 },
      { kind: 'message', role: 'user', start: 5, end: 7 },
      { kind: 'generation', role: 'assistant', start: 8, end: 10 },
    ],
  });
  const sequence = sequenceOf(one);
  const rows = stripRows(one, sequence, () => token(1), { ...wide, columns: 100 });
  expect(rows.flatMap((row) => (row.kind === 'part' ? [row.text] : []))).toEqual([
    'template',
    'system',
    'template',
    'user',
    'template',
    'assistant, opened by the template',
    'end of the completion',
  ]);
  expect([0, 1, 4, 5, 9, 10].map((place) => sequence.sourceAt(place))).toEqual([
    SOURCES.template,
    SOURCES.prompt,
    SOURCES.template,
    SOURCES.prompt,
    SOURCES.template,
    SOURCES.policy,
  ]);
});

it('folds a long prompt to its end, and says how much', () => {
  const one = answer(100, 2);
  const rows = stripRows(one, sequenceOf(one), () => token(9), { columns: 20, isPromptWhole: false });
  expect(rows[0]).toEqual({ kind: 'more', tokens: 88 });
  expect(rows.slice(1, 3)).toEqual([
    { kind: 'part', text: 'prompt, continued' },
    { kind: 'line', start: 88, end: 90 },
  ]);
  expect(rowOf(rows, 0)).toBeUndefined();
  expect(rowOf(rows, 89)).toBe(2);
});

it('moves by token and by line', () => {
  const one = answer(3, 10);
  const sequence = sequenceOf(one);
  const rows = stripRows(one, sequence, () => token(5), wide);
  const from = (key: string, place: number) => placeAfter(key, place, rows, sequence);
  expect(from('ArrowRight', 5)).toBe(6);
  expect([from('ArrowLeft', 0), from('ArrowRight', 12)]).toEqual([0, 12]);
  expect([from('Home', 9), from('End', 4)]).toEqual([3, 12]);
  expect([from('ArrowDown', 4), from('ArrowUp', 7), from('ArrowUp', 0)]).toEqual([7, 4, 0]);
});

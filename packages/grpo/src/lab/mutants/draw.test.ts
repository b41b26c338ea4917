import { describe, expect, it } from 'vitest';
import { executed } from './coverage.js';
import { drawMutants } from './draw.js';
import type { Subject } from './subjects.js';

const subject = (path: string, stage: Subject['stages'][number], text: string): Subject => ({
  path,
  url: `file:///${path}`,
  stages: [stage],
  text,
});

const subjects = [
  subject('a', 'loss', 'f(a + b, c * d, -e);'.repeat(20)),
  subject('b', 'loss', 'a - b;'),
  subject('c', 'kl', 'a < b;'),
  subject('d', 'kl', 'a - b;'),
];

describe('the draw', () => {
  const always = () => true;
  const mutants = drawMutants(subjects, [always, always], 3);
  const name = ({ subject: { path }, mutation: { start, text } }: (typeof mutants)[number]) =>
    `${path} ${start} ${text}`;

  it('has each mutant once, in an order of the seed', () => {
    expect(new Set(mutants.map(name)).size).toBe(mutants.length);
    expect(mutants.map(({ index }) => index)).toEqual(mutants.map((_, i) => i));
    expect(drawMutants(subjects, [always, always], 3)).toEqual(mutants);
    const other = drawMutants(subjects, [always, always], 4);
    expect(other.map(name)).not.toEqual(mutants.map(name));
    expect(other.map(name).sort()).toEqual(mutants.map(name).sort());
  });

  it('is even over stages, and over the files of a stage', () => {
    expect(mutants.slice(0, 6).map(({ subject: { stages } }) => stages[0])).toEqual([
      ...['loss', 'kl', 'loss', 'kl', 'loss', 'kl'],
    ]);
    const loss = mutants.filter(({ subject: { stages } }) => stages[0] === 'loss');
    expect(
      loss
        .slice(0, 4)
        .map(({ subject: { path } }) => path)
        .sort(),
    ).toEqual(['a', 'a', 'b', 'b']);
  });

  it('takes what a configuration executes, and tries it there', () => {
    const of = (path: string) => (url: string) => url === `file:///${path}`;
    const some = drawMutants(subjects, [of('c'), of('a'), of('a')], 3);
    expect(new Set(some.map(({ subject: { path }, configuration }) => `${path}${configuration}`))).toEqual(
      new Set(['c0', 'a1', 'a2']),
    );
  });
});

it('a place was executed where the smallest range around it was', () => {
  const ranges = [
    { startOffset: 0, endOffset: 100, count: 1 },
    { startOffset: 10, endOffset: 50, count: 0 },
    { startOffset: 20, endOffset: 30, count: 2 },
  ];
  expect([5, 10, 25, 40, 50, 100].map((place) => executed(ranges, place))).toEqual([
    ...[true, false, true, false, true, false],
  ]);
  expect(executed([], 0)).toBe(false);
});

import { expect, it } from 'vitest';
import { alignWithin, shortened } from './text-layout.js';

const COLUMNS = ['alpha', 'beta', 'gamma'].map((name) => [name, '1.00', '2.00']);

it('puts columns that have no room into a table below, with the names again', () => {
  const names = [['row', 'a', 'b']];
  expect(alignWithin(names, COLUMNS, 40)).toHaveLength(3);
  const narrow = alignWithin(names, COLUMNS, 17);
  expect(narrow.map((line) => line.split(/ +/))).toEqual([
    ['row', 'alpha', 'beta'],
    ['a', '1.00', '1.00'],
    ['b', '2.00', '2.00'],
    [''],
    ['row', 'gamma'],
    ['a', '1.00'],
    ['b', '2.00'],
  ]);
  expect(Math.max(...narrow.map((line) => line.length))).toBeLessThanOrEqual(17);
});

it('shortens a text at its end, or at its beginning', () => {
  expect([shortened('one two', 5), shortened('one two', 5, true), shortened(' \n', 5)]).toEqual([
    'one …',
    '… two',
    '(blank)',
  ]);
});

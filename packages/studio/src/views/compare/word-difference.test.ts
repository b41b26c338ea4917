import { expect, it } from 'vitest';
import { wordDifference } from './word-difference.js';

const marked = (here: string, there: string) =>
  wordDifference(here, there)
    .pieces.map(({ of, text }) => (of === 'both' ? text : of === 'here' ? `[-${text}-]` : `[+${text}+]`))
    .join('');

it('marks the words of one text only', () => {
  expect(marked('two and two is four', 'two and three is five')).toBe(
    'two and [-two-][+three+] is [-four-][+five+]',
  );
  expect(marked('7+5=12;', '7+6=13;')).toBe('7+[-5-][+6+]=[-12-][+13+];');
});

it('gives both texts back', () => {
  const [here, there] = ['a b  c\nd e f g', 'x b c\nd d g h'];
  const { pieces } = wordDifference(here, there);
  const side = (other: string) =>
    pieces
      .filter(({ of }) => of !== other)
      .map(({ text }) => text)
      .join('');
  expect(side('there')).toBe(here);
  expect(side('here')).toBe(there);
});

it('has one piece of equal texts, none of empty ones', () => {
  expect(wordDifference('the same', 'the same').pieces).toEqual([{ of: 'both', text: 'the same' }]);
  expect(wordDifference('', '').pieces).toEqual([]);
  expect(marked('', 'new')).toBe('[+new+]');
});

it('finds a late difference of long texts, and cuts what is longer', () => {
  const long = 'word '.repeat(3000);
  expect(marked(`${long}here end`, `${long}there end`)).toBe(`${long}[-here-][+there+] end`);
  const { pieces, isCut } = wordDifference('a '.repeat(2e5), 'b '.repeat(2e5));
  expect(isCut).toBe(true);
  expect(pieces.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThan(2000);
});

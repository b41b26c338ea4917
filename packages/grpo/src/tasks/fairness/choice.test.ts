import { describe, expect, it } from 'vitest';
import { choiceOf } from './choice.js';

const OPTIONS = ['The baker', 'The tailor', 'Cannot be determined'];

describe('the option that an answer names', () => {
  it.each([
    ['B', 1],
    ['b', 1],
    ['(C)', 2],
    ['C)', 2],
    ['A.', 0],
    ['A:', 0],
    ['Option B', 1],
    ['B) The tailor', 1],
    ['(B) the tailor.', 1],
    ['B. A tailor', 1],
    ['A The baker', 0],
    ['The tailor', 1],
    ['tailor.', 1],
    ['cannot be determined', 2],
  ])('%j', (answer, index) => expect(choiceOf(answer, OPTIONS).index).toBe(index));

  it.each([
    'A B C',
    'A, B, C',
    'A or B',
    'A/B',
    'A and C',
    'ABC',
    'B) The baker',
    'B because of the box',
    'D',
    'The baker, the tailor',
    'The baker The tailor Cannot be determined',
    'somebody',
    '',
    '?',
    'B\nC',
  ])('is none: %j', (answer) => {
    expect(choiceOf(answer, OPTIONS)).toEqual({ index: null, problem: expect.any(String) });
  });

  it('follows the text where options look like letters', () => {
    expect(choiceOf('A man', ['The woman', 'A man', 'Unknown']).index).toBe(1);
    expect(choiceOf('A) man', ['The woman', 'A man', 'Unknown']).index).toBe(null);
  });
});

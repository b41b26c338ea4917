import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadForm } from '../text/forms.test.helper.js';
import { StopStrings } from './stop.js';

// The second list has what these vocabularies have by its bytes alone.
const PIECES = [' ', '  ', 'the', ';', ...['Ω', 'ΩΩ', '🦊', '\n', '\t']];

describe.each([
  'Llama 2: a mark in front, no words',
  'a mark in front of each stretch',
  'Gemma: split behind spaces',
  'Unigram with bytes',
  'Phi-4-mini: the pattern of GPT-4o',
])('stop strings in a completion of %s', (name) => {
  const tokenizer = loadForm(name);
  const text = fc
    .array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 12 })
    .map((pieces) => pieces.join(''));
  const stop = fc
    .array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 3 })
    .map((pieces) => pieces.join(''));

  it('are found with the token that completes the first one', () => {
    fc.assert(
      fc.property(text, stop, (text, stop) => {
        const strings = new StopStrings([stop], tokenizer);
        const ids = tokenizer.encode(text);
        // There a completion ends; bytes behind it could make bytes before them another text.
        const expected = ids.findIndex((_, t) => tokenizer.decode(ids.slice(0, t + 1)).includes(stop));
        expect(ids.findIndex((_, t) => strings.completedBy(ids.slice(0, t + 1)) === stop)).toBe(expected);
      }),
      { numRuns: 400 },
    );
  });
});

it('are found behind spaces that the decoder would take from the front of a text', () => {
  const tokenizer = loadForm('a mark in front of each stretch');
  for (let before = 1; before <= 6; before++) {
    for (let spaces = 0; spaces <= before; spaces++) {
      const ids = tokenizer.encode(`x${' '.repeat(before)};`);
      const stop = `${' '.repeat(spaces)};`;
      expect(new StopStrings([stop], tokenizer).completedBy(ids)).toBe(stop);
    }
  }
});

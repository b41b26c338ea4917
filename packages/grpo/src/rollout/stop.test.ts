import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadForm } from '../text/forms.test.helper.js';
import { StopStrings } from './stop.js';

// The second list has what these vocabularies have by its bytes alone.
const PIECES = [' ', '  ', 'the', ';', ...['Ω', 'ΩΩ', '🦊', '\n', '\t']];

/** How often a text has another in it, overlapping ones included. */
function timesIn(text: string, part: string): number {
  let times = 0;
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) times++;
  return times;
}

describe.each([
  'Llama 2: a mark in front, no words',
  'words with a mark in front',
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

  it('are found where the whole text has one more of them', () => {
    fc.assert(
      fc.property(text, stop, (text, stop) => {
        const strings = new StopStrings([stop], tokenizer);
        const ids = tokenizer.encode(text);
        const times = [0, ...ids.map((_, t) => timesIn(tokenizer.decode(ids.slice(0, t + 1)), stop))];
        const expected = ids.map((_, t) => times[t + 1]! > times[t]!);
        expect(ids.map((_, t) => strings.completedBy(ids.slice(0, t + 1)) === stop)).toEqual(expected);
      }),
      { numRuns: 400 },
    );
  });
});

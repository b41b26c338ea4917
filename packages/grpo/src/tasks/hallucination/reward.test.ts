import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type GroundedQuestion, hallucinationReward, isTruthful, type JudgingQuestion } from './reward.js';

const QA: GroundedQuestion = {
  kind: 'qa',
  source: 'Alder is a town on the river Sill. Its bridge was built in 1801 by the mason Osk Dogwood.',
  asked: 'Who built the bridge of Alder?',
  right: 'Osk Dogwood',
  hallucinated: 'It was built by Una Fir.',
};
const JUDGED: JudgingQuestion = {
  kind: 'general',
  source: 'It grows tall. Its leaves are made of blue glass.',
  hallucinated: true,
  spans: ['Its leaves are made of blue glass.'],
};
const QUOTE = 'Its bridge was built in 1801 by the mason Osk Dogwood.';
const said = (answer: string, evidence: string) => `Answer: ${answer}\nEvidence: "${evidence}"`;
const value = (completion: string) => hallucinationReward(completion, QA).value;

describe('an answer from a source', () => {
  it.each([
    ['right, with evidence', said('Osk Dogwood', QUOTE), 1, true],
    ['right, in a sentence', said('The bridge was built by Osk Dogwood.', QUOTE), 1, true],
    ['right, without evidence', 'Answer: Osk Dogwood', 0.8, true],
    [
      'right, with evidence that was made up',
      said('Osk Dogwood', 'Everybody knows that Osk did it.'),
      0.8,
      true,
    ],
    [
      'right, with evidence of something else',
      said('Osk Dogwood', 'Alder is a town on the river Sill.'),
      0.8,
      true,
    ],
    ['hallucinated, with a quotation', said(QA.hallucinated, QUOTE), -0.2, false],
    ['about something else', said('The weather is fine.', QUOTE), -0.2, false],
    ['that says it does not know', said('I do not know.', 'none'), 0, false],
    ['missing', '', -1, false],
    ['without format', 'Osk Dogwood', -1, false],
    ['right, with a placeholder', said('Osk Dogwood [insert source]', QUOTE), 0.6, false],
    ['right, as an AI', said('As an AI I say Osk Dogwood.', QUOTE), 0.3, true],
  ])('%s', (_, completion, expected, right) => {
    expect(value(completion)).toBeCloseTo(expected, 12);
    expect(isTruthful(completion, QA)).toBe(right);
  });

  it('of right and hallucinated together is not taken for right', () => {
    for (const joined of [`${QA.right}. ${QA.hallucinated}`, `${QA.hallucinated} ${QA.right}`]) {
      expect(isTruthful(said(joined, QUOTE), QA)).toBe(false);
      expect(value(said(joined, QUOTE))).toBeLessThan(0.5);
    }
  });

  it('that copies the source is none', () => {
    const copy = said(`${QA.source} ${QA.source} ${QA.source}`, QUOTE);
    expect(isTruthful(copy, QA)).toBe(false);
    expect(value(copy)).toBeLessThan(0.3);
  });

  it('never earns more by going on and on', () => {
    const padded = (n: number) =>
      value(said(`Osk Dogwood ${'and so it goes on with yet other things '.repeat(n)}`, QUOTE));
    const values = [0, 1, 2, 4, 8, 16, 64].map(padded);
    expect(values).toEqual([...values].sort((a, b) => b - a));
    expect(values.at(-1)).toBeLessThan(-0.3);
  });

  it('earns −1 to 1, the sum of its parts within these bounds', () => {
    const texts = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 60 }),
      fc.lorem(),
      fc.constantFrom(QA.right, QUOTE, '____'),
    );
    fc.assert(
      fc.property(texts, texts, (answer, evidence) => {
        const { value, parts } = hallucinationReward(`Answer: ${answer}\nEvidence: ${evidence}`, QA);
        const sum = Object.values(parts).reduce((a, b) => a + b, 0);
        expect(value).toBeCloseTo(Math.max(-1, Math.min(1, sum)), 12);
      }),
    );
  });
});

describe('whether an answer is hallucinated', () => {
  it.each([
    ['yes, with the passage', said('yes', JUDGED.spans[0]!), 1, true],
    ['yes alone', 'Answer: Yes.', 0.8, true],
    ['no', said('no', 'none'), -0.2, false],
    ['both', said('yes no', 'none'), -1, false],
    ['neither', said('perhaps', 'none'), -1, false],
  ])('%s', (_, completion, expected, right) => {
    expect(hallucinationReward(completion, JUDGED).value).toBeCloseTo(expected, 12);
    expect(isTruthful(completion, JUDGED)).toBe(right);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Reason } from '../describe-error.js';
import { rankScores, readRanking } from './ranking.js';
import { readScore } from './reply.js';

const WEIGHTS = { kind: 0.3, right: 0.4, useful: 0.3 };

describe('readScore', () => {
  it.each([
    ['{"score": 0.25}', 0.25],
    [' \n{"reason": "because", "score": 1, "confidence": 9}\n', 1],
    ['```json\n{"score": 0}\n```', 0],
    ['```\n{"score": 1e-3}```', 0.001],
  ])('reads %j', (content, value) => expect(readScore(content)).toEqual({ value }));

  it('takes the weighted mean of components', () => {
    const reply = '{"scores": {"useful": 1, "kind": 0.5, "right": 0}, "reason": "so so"}';
    expect(readScore(reply, WEIGHTS)).toEqual({
      value: expect.closeTo(0.45, 12),
      parts: { kind: 0.5, right: 0, useful: 1 },
    });
    expect(readScore('{"scores": {"a": 1, "b": 0}}', { a: 3, b: 1 }).value).toBe(0.75);
  });

  it.each([
    ['', 'not one JSON object'],
    ['0.7', 'not a JSON object'],
    ['[0.7]', 'not a JSON object'],
    ['null', 'not a JSON object'],
    ['The score is {"score": 0.7}', 'not one JSON object'],
    ['{"score": 0.7} I hope this helps', 'not one JSON object'],
    ['```json\n{"score": 0.1}\n```\n```json\n{"score": 0.9}\n```', 'not one JSON object'],
    ['{"score": 0.7', 'not one JSON object'],
    ['{"score": NaN}', 'not one JSON object'],
    ['{"score": 0.1, "score": 0.9}', 'names "score" twice'],
    ['{"score": "0.7"}', '"score" is "0.7", not a number from 0 to 1'],
    ['{"score": null}', '"score" is null'],
    ['{"score": true}', '"score" is true'],
    ['{"score": 1.0001}', '"score" is 1.0001'],
    ['{"score": -0.1}', '"score" is -0.1'],
    ['{"score": 1e999}', '"score" is Infinity'],
    ['{"Score": 1}', '"score" is nothing'],
    ['{"score": {"value": 1}}', '"score" is an object'],
    ['{"score": 1, "reason": 7}', '"reason" is 7, not text'],
    [`${'['.repeat(5000)}${']'.repeat(5000)}`, 'not a JSON object'],
    [`{"score": ${'['.repeat(5000)}${']'.repeat(5000)}}`, 'nested more than 100 deep'],
  ])('refuses %.40j', (content, problem) => {
    expect(() => readScore(content)).toThrow(Reason);
    expect(() => readScore(content)).toThrow(problem);
  });

  it.each([
    ['{"score": 1}', '"scores" is nothing, not an object'],
    ['{"scores": [1, 1, 1]}', 'not an object'],
    ['{"scores": {"kind": 1, "right": 1}}', '"useful", which is nothing'],
    ['{"scores": {"kind": 1, "right": 1, "useful": 1, "other": 1}}', '"other", which was not asked for'],
    ['{"scores": {"kind": 1, "right": "1", "useful": 1}}', '"right", which is "1", not a number'],
  ])('refuses the components %j', (content, problem) => {
    expect(() => readScore(content, WEIGHTS)).toThrow(problem);
  });

  it('gives a number from 0 to 1 or a reason, whatever it is given', () => {
    const value = fc.oneof(
      fc.json(),
      fc.string(),
      fc.double().map((score) => JSON.stringify({ score })),
    );
    fc.assert(
      fc.property(value, (content) => {
        try {
          const { value: read } = readScore(content);
          expect(read >= 0 && read <= 1).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(Reason);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('readRanking', () => {
  it('gives each number its place', () => {
    expect(readRanking('{"ranking": [3, 1, 2], "reason": "so"}', 3)).toEqual([1, 2, 0]);
    expect(readRanking('{"ranking": [3, [1, 2]]}', 3)).toEqual([1.5, 1.5, 0]);
    expect(readRanking('{"ranking": [[1, 2, 3]]}', 3)).toEqual([1, 1, 1]);
  });

  it.each([
    ['{"ranking": [1, 2]}', '2 of 3 completions'],
    ['{"ranking": []}', '0 of 3'],
    ['{"ranking": [1, 2, 2]}', '2 twice'],
    ['{"ranking": [1, 2, 3, 3]}', '3 twice'],
    ['{"ranking": [0, 1, 2]}', '0, not a number from 1 to 3'],
    ['{"ranking": [1, 2, 4]}', '4, not a number'],
    ['{"ranking": [1, 2, 2.5]}', '2.5, not a number'],
    ['{"ranking": ["1", "2", "3"]}', '"1", not a number'],
    ['{"ranking": [1, [2, [3]]]}', 'a list in a list, not a number'],
    ['{"ranking": "1, 2, 3"}', 'not a list'],
    ['{"order": [1, 2, 3]}', '"ranking" is nothing'],
    ['1, 2, 3', 'not one JSON object'],
  ])('refuses %s', (content, problem) => expect(() => readRanking(content, 3)).toThrow(problem));
});

describe('rankScores', () => {
  it('runs from 1 for the best to 0 for the worst', () => {
    const places = new Map([
      ['a', 2],
      ['b', 0],
      ['c', 1],
    ]);
    expect(rankScores(['a', 'b', 'c'], places)).toEqual([0, 1, 0.5]);
  });

  it('gives equal completions the same, and the group the mean of 1/2', () => {
    const name = fc.constantFrom(...'abcdef');
    fc.assert(
      fc.property(fc.array(name, { minLength: 2, maxLength: 9 }), fc.array(fc.nat(3)), (texts, places) => {
        const placeOf = new Map([...new Set(texts)].map((text, i) => [text, places[i] ?? i]));
        const scores = rankScores(texts, placeOf);
        expect(scores.reduce((a, b) => a + b, 0) / texts.length).toBeCloseTo(0.5, 12);
        texts.forEach((text, i) => {
          texts.forEach((other, j) => {
            const [own, theirs] = [placeOf.get(text)!, placeOf.get(other)!];
            expect(Math.sign(scores[i]! - scores[j]!)).toBe(Math.sign(theirs - own) + 0);
          });
        });
      }),
    );
  });
});

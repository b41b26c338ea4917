import { describe, expect, it } from 'vitest';
import { parseEnvironment, parsePolicy, parsePrompt, splitRow } from './grammar.js';
import { environmentCompletion, environmentPrompt, policyCompletion, policyPrompt } from './write-row.js';

const START = 'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1';
const AFTER = 'rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1';

describe('splitRow', () => {
  it.each([
    ['P', `P: ${START}`, '   M: e2e4 d2d4   E: 0.35 -.2   B: e2e4'],
    ['P with single spaces', `P: ${START}`, ' M: e2e4 E: 0.3 B: e2e4'],
    ['P that is padded', `P: ${START}`, `${' '.repeat(40)}M: e2e4     E: 1    B: e2e4`],
    ['A', `A: ${START}+e2e4+e2e4+`, `${AFTER}+0.001+0+0`],
    ['A with a history', `A: ${AFTER}+e7e5+a2a3 a7a6 e2e4 e7e5+`, `${AFTER}+1.0+true+false`],
    ['A without a history', `A: ${START}+e2e4++`, `${AFTER}+0.001+0+0`],
  ])('divides a row without losing a character: %s', (_, prompt, completion) => {
    expect(splitRow(prompt + completion)).toEqual({ prompt, completion });
    expect(splitRow(prompt)).toEqual({ prompt });
  });

  it('takes a row without prefix for A', () => {
    expect(splitRow(`${START}+e2e4+e2e4+${AFTER}+0.001+0+0`)).toEqual({
      prompt: `A: ${START}+e2e4+e2e4+`,
      completion: `${AFTER}+0.001+0+0`,
    });
  });

  it('reads what is written', () => {
    const outcome = { fen: AFTER, reward: 0.001, terminated: false, truncated: false };
    const history = Array.from({ length: 12 }, (_, i) => (i % 2 === 0 ? 'g1f3' : 'f3g1'));
    const prompt = environmentPrompt(START, 'e2e4', history);
    expect(parsePrompt(prompt)).toEqual({
      kind: 'A',
      fen: START,
      move: 'e2e4',
      history: [...history.slice(-9), 'e2e4'],
    });
    expect(parseEnvironment(environmentCompletion(outcome))).toEqual(outcome);
    const lines = [
      { move: 'e7e8q', centipawns: 9999 },
      { move: 'd2d4', centipawns: -7 },
    ];
    const completion = policyCompletion(lines);
    expect(completion).toBe('   M: e7e8q d2d4   E: 99.99 -0.07   B: e7e8q');
    expect(parsePolicy(completion)).toEqual({
      moves: ['e7e8q', 'd2d4'],
      evaluations: [99.99, -0.07],
      best: 'e7e8q',
    });
    expect(parsePrompt(policyPrompt(START))).toEqual({ kind: 'P', fen: START });
  });

  it.each([
    [`P:${START}`, 'there must be a space after "P:"'],
    [`A:${START}+e2e4++`, 'there must be a space after "A:"'],
    [`Q: ${START}`, 'an A row has 7 fields between + (or 3, its prompt), found 1'],
    [`A: ${START}+e2e4`, 'found 2'],
    [`A: ${START}+e2e4++${AFTER}+0.001+0+0+x`, 'found 8'],
    [`A: ${START}+e4++`, 'a move is written like e2e4 or e7e8q, found "e4"'],
    [`A: ${START}+e2e4+${'e2e4 '.repeat(11).trim()}+`, 'at most 10 moves, found 11'],
    [`A: ${START}+e2e4++${AFTER}+much+0+0`, 'the reward must be a number, found "much"'],
    [`A: ${START}+e2e4++${AFTER}+1+2+0`, 'terminated must be 0 or 1, found "2"'],
    [`A: ${START}+e2e4++${AFTER}+1+1+yes`, 'truncated must be 0 or 1, found "yes"'],
    ['A: 8/8/8 w - - 0 1+e2e4++', 'the board must have 8 ranks, found 3'],
    [`P: ${START.replace('pppppppp', 'ppppppp')}`, 'rank 7 ("ppppppp") has 7 squares'],
    [`P: ${START.replace('/8/', '/44/')}`, 'has two numbers in a row'],
    [`P: ${START.replace('q', 'x')}`, 'holds something that is no piece'],
    [`P: ${START.replace(' w ', ' x ')}`, 'the side to move must be w or b, found "x"'],
    [`P: ${START.replace('KQkq', 'kqKQ')}`, 'castling rights must be'],
    [`P: ${START.replace(' - ', ' e9 ')}`, 'the en-passant field must be - or a square, found "e9"'],
    [`P: ${START.replace(' 0 ', ' zero ')}`, 'the half-move clock must be a whole number'],
    [`P: ${START.replace(' 0 1', '')}`, 'a FEN has 6 fields, found 4'],
    [`P: ${START} M: e2e4 E: 0.3`, 'expected "M: moves E: numbers B: move"'],
    [`P: ${START} M: e2e4 E: x B: e2e4`, 'E: must hold numbers, found "x"'],
    [`P: ${START} M: e2e4 d2d4 E: 0.3 B: e2e4`, 'M: has 2 moves, but E: has 1 numbers'],
    [`P: ${START} M: e2e4 E: 0.3 B: Nf3`, 'a move is written like e2e4 or e7e8q, found "Nf3"'],
    [`P: ${START} M: ${'e2e4 '.repeat(6)}E: 1 2 3 4 5 6 B: e2e4`, 'at most 5 moves, found 6'],
  ])('says what is malformed: %s', (text, problem) => {
    expect(() => splitRow(text)).toThrow(problem);
  });
});

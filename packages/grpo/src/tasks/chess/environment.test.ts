import { describe, expect, it } from 'vitest';
import { expectedFen, scoreEnvironment } from './environment.js';

const START = 'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1';
const PROMPT = `A: ${START}+e2e4+e2e4+`;
const RIGHT = 'rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1';
const WRONG = 'rnbqkbnr/pppppppp/8/8/3P4/8/PPP1PPPP/RNBQKBNR b KQkq - 0 1';
const SUFFIX = '+0.001+0+0';

const of = (completion: string, prompt = PROMPT) => scoreEnvironment(prompt, completion).value;

describe('the reward of an A completion', () => {
  // The values of the published reward.
  it.each([
    ['perfect', RIGHT + SUFFIX, 0.54, 'the right position'],
    [
      'only the full-move number wrong',
      RIGHT.replace(/1$/, '2') + SUFFIX,
      -0.26,
      'wrong full-move number only',
    ],
    ['another position', WRONG + SUFFIX, -0.66, 'wrong placement'],
    ['no position, but the right form', `rnbqkbnr/pppp${SUFFIX}`, -0.87, 'a position of 1 fields'],
    ['nothing', '', -0.9, 'no position'],
    // And between them, by the same rules.
    ['the position alone', RIGHT, 0.51, 'the right position'],
    ['words for the flags', `${RIGHT}+0.001+false+false`, 0.54, 'the right position'],
    ['no number for the reward', `${RIGHT}+x+0+0`, 0.535, 'the right position'],
    ['no flag', `${RIGHT}+0.001+2+maybe`, 0.53, 'the right position'],
    ['text after a whole answer', `${RIGHT}${SUFFIX}+and more`, 0.54, 'the right position'],
    ['white space', `  ${RIGHT.replace(' ', '  ')} ${SUFFIX}`, 0.54, 'the right position'],
    [
      'the en-passant field of a step nobody can capture',
      `${RIGHT.replace('-', 'e3')}${SUFFIX}`,
      -0.66,
      'wrong en-passant field',
    ],
    ['the wrong side to move', `${RIGHT.replace(' b ', ' w ')}${SUFFIX}`, -0.6625, 'wrong side to move'],
    ['lost castling rights', `${RIGHT.replace('KQkq', 'Kkq')}${SUFFIX}`, -0.6625, 'wrong castling rights'],
    ['two kings', `${RIGHT.replace('Q', 'K')}${SUFFIX}`, -0.87, 'wrong placement'],
    [
      'a position without its counters',
      `${RIGHT.split(' ').slice(0, 4).join(' ')}${SUFFIX}`,
      -0.66,
      'a position of 4 fields',
    ],
    ['the prompt again', PROMPT, -0.885, 'wrong placement'],
  ])('%s', (_, completion, value, rule) => {
    const verdict = scoreEnvironment(PROMPT, completion);
    expect(verdict.value).toBeCloseTo(value, 10);
    expect(verdict.rule).toContain(rule);
    const { schema, fen, validity } = verdict.parts!;
    expect(schema! + fen! + validity!).toBeCloseTo(value, 10);
  });

  it.each([
    ['no field after the move', 'A: e2e4', -0.5],
    ['another kind', `P: ${START}`, -0.5],
    ['no position', 'A: x+e2e4++', -0.5],
    ['no move', `A: ${START}+e4++`, -0.5],
    ['an illegal move', `A: ${START}+e2e5++`, -0.8],
    ['a promotion that is none', `A: ${START}+e2e4q++`, -0.8],
  ])('of a prompt with %s', (_, prompt, value) => {
    expect(of(RIGHT + SUFFIX, prompt)).toBe(value);
  });

  it('is highest for the right answer', () => {
    for (const other of ['', PROMPT, WRONG + SUFFIX, START + SUFFIX, `${RIGHT} ${RIGHT}`, RIGHT.repeat(60)])
      expect(of(other)).toBeLessThan(-0.2);
  });
});

describe('the position after a move', () => {
  const after = (fen: string, move: string) => expectedFen(`A: ${fen}+${move}+${move}+`);

  // As python-chess's fen() writes them.
  it.each([
    ['no pawn can capture', START, 'e2e4', RIGHT],
    ['a pawn can', '4k3/8/8/8/3p4/8/4P3/4K3 w - - 0 1', 'e2e4', '4k3/8/8/8/3pP3/8/8/4K3 b - e3 0 1'],
    [
      'the pawn is pinned along its rank',
      '8/8/8/8/k2p3R/8/4P3/4K3 w - - 0 1',
      'e2e4',
      '8/8/8/8/k2pP2R/8/8/4K3 b - - 0 1',
    ],
    [
      'the pawn is pinned along its file',
      '3k4/8/8/8/3p4/8/4P3/3RK3 w - - 0 1',
      'e2e4',
      '3k4/8/8/8/3pP3/8/8/3RK3 b - - 0 1',
    ],
    [
      'another pawn is not pinned',
      '3k4/8/8/8/3p1p2/8/4P3/3RK3 w - - 0 1',
      'e2e4',
      '3k4/8/8/8/3pPp2/8/8/3RK3 b - e3 0 1',
    ],
  ])('has an en-passant field only where that is legal: %s', (_, fen, move, expected) => {
    expect(after(fen, move)).toBe(expected);
  });

  it.each([
    ['castling', 'r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 3 9', 'e1g1', 'r3k2r/8/8/8/8/8/8/R4RK1 b kq - 4 9'],
    [
      'a rook that moves',
      'r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 3 9',
      'a8b8',
      '1r2k2r/8/8/8/8/8/8/R3K2R w KQk - 4 10',
    ],
    [
      'a rook that is captured',
      'r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 3 9',
      'a1a8',
      'R3k2r/8/8/8/8/8/8/4K2R b Kk - 0 9',
    ],
    ['a promotion', '4k3/P7/8/8/8/8/8/4K3 w - - 5 70', 'a7a8n', 'N3k3/8/8/8/8/8/8/4K3 b - - 0 70'],
    ['an en-passant capture', '4k3/8/8/8/3pP3/8/8/4K3 b - e3 0 1', 'd4e3', '4k3/8/8/8/8/4p3/8/4K3 w - - 0 2'],
    [
      'rights that the board does not bear out',
      '4k3/8/8/8/8/8/8/4K2R w KQkq e6 0 0',
      'e1e2',
      '4k3/8/8/8/8/8/4K3/7R b - - 1 1',
    ],
    ['an illegal move, which changes nothing', START, 'e2e5', START],
  ])('after %s', (_, fen, move, expected) => {
    expect(after(fen, move)).toBe(expected);
  });
});

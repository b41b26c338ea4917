import { describe, expect, it } from 'vitest';
import type { Analyst } from './engine/analysis.js';
import { scorePolicy } from './policy.js';
import { scoreChess } from './reward.js';

const START = 'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1';
const PROMPT = `P: ${START}`;
const TOP = ['e2e4', 'd2d4', 'g1f3', 'c2c4', 'b1c3'];

/** Every move leaves the opponent 40 centipawns behind. */
const analyst: Analyst = {
  best: async () => TOP.map((move, i) => ({ move, centipawns: 40 - i })),
  value: async () => -40,
};
const nobody: Analyst = { best: async () => [], value: async () => 0 };
const broken: Analyst = {
  best: () => Promise.reject(new Error('the engine hangs')),
  value: () => Promise.reject(new Error('the engine hangs')),
};

const rightValues = (count: number) => Array(count).fill('0.4').join(' ');
const perfect = `   M: ${TOP.join(' ')}   E: ${rightValues(5)}   B: e2e4`;

describe('the reward of a P completion with an engine', () => {
  // total = 0.5 best + 0.3 candidates + 0.2 evaluations
  it.each([
    ['perfect', perfect, { best: 1, candidates: 1, evaluations: 1 }],
    ['the second move', perfect.replace('B: e2e4', 'B: d2d4'), { best: 0.8, candidates: 1, evaluations: 1 }],
    ['the fifth move', perfect.replace('B: e2e4', 'B: b1c3'), { best: 0.2, candidates: 1, evaluations: 1 }],
    [
      'another legal move',
      perfect.replace('B: e2e4', 'B: a2a3'),
      { best: 0.1, candidates: 1, evaluations: 1 },
    ],
    ['an illegal move', perfect.replace('B: e2e4', 'B: e2e5'), { best: -1, candidates: 1, evaluations: 1 }],
    ['no best move', perfect.replace('B: e2e4', ''), { best: -0.5, candidates: 1, evaluations: 1 }],
    ['nothing', '', { best: -0.5, candidates: -0.3, evaluations: -0.2 }],
    // 1 of 5 shared, 0.1 for the first in its place.
    ['one candidate', 'M: e2e4 E: 0.4 B: e2e4', { best: 1, candidates: 0.3, evaluations: 1 }],
    // 2 of 5 shared; neither is where the engine has it.
    [
      'two in the wrong order',
      'M: d2d4 e2e4 E: 0.4 0.4 B: e2e4',
      { best: 1, candidates: 0.4, evaluations: 1 },
    ],
    // 1 of 6, for the two are one set of six; then −0.3.
    [
      'one of three illegal',
      'M: a2a3 e2e4 e2e5 E: 1 1 1 B: e2e4',
      { best: 1, candidates: 1 / 6 - 0.3, evaluations: -0.5 },
    ],
    [
      'only illegal candidates',
      'M: e2e5 e2e6 E: 1 1 B: e2e4',
      { best: 1, candidates: -0.6, evaluations: -0.5 },
    ],
    [
      'too few values',
      'M: e2e4 d2d4 E: 0.4 B: e2e4',
      { best: 1, candidates: 0.4 + 0.1 + 0.2 / 3, evaluations: -0.4 },
    ],
    // Errors of 0.1 and 0.3.
    [
      'values somewhat off',
      'M: e2e4 d2d4 E: 0.5 0.1 B: e2e4',
      { best: 1, candidates: 0.4 + 0.1 + 0.2 / 3, evaluations: 0.8 },
    ],
    ['a value of the wrong sign', 'M: e2e4 E: -0.1 B: e2e4', { best: 1, candidates: 0.3, evaluations: 0.1 }],
    [
      'five values of the wrong sign',
      perfect.replaceAll('0.4', '-9'),
      { best: 1, candidates: 1, evaluations: -1 },
    ],
  ])('%s', async (_, completion, parts) => {
    const verdict = await scorePolicy(PROMPT, completion, analyst);
    for (const [name, value] of Object.entries(parts))
      expect(verdict.parts![name], name).toBeCloseTo(value, 10);
    const total = 0.5 * parts.best + 0.3 * parts.candidates + 0.2 * parts.evaluations;
    expect(verdict.value).toBeCloseTo(total, 10);
  });

  it('is −1 at least', async () => {
    const worst = `M: ${'e2e5 '.repeat(5)}E: 1 1 1 1 1 B: e2e5`;
    const { value, parts } = await scorePolicy(PROMPT, worst, analyst);
    expect(parts).toEqual({ best: -1, candidates: -1.5, evaluations: -0.5 });
    expect(value).toBe(-1);
  });

  it('has nothing to compare with where the engine has no move', async () => {
    const { parts } = await scorePolicy(PROMPT, 'M: e2e4 E: 0 B: e2e4', nobody);
    expect(parts).toMatchObject({ candidates: 0, best: -0.5 });
  });

  it('is missing where the engine fails: no other scale takes its place', async () => {
    await expect(scorePolicy(PROMPT, perfect, broken)).rejects.toThrow('the engine hangs');
  });
});

describe('without an engine', () => {
  it.each([
    ['all there and legal', perfect, 0.7],
    ['two candidates', 'M: e2e4 d2d4 E: 1 1 B: e2e4', 0.58],
    ['a best move alone', 'B: e2e4', 0.3],
    ['an illegal best move', 'M: e2e4 E: 1 B: e2e5', 0.04],
    ['an illegal candidate', 'M: e2e4 e2e5 E: 1 1 B: e2e4', 0.48],
    ['nothing', '', 0],
    ['only illegal moves', 'M: e2e5 e2e6 B: e2e5', 0],
  ])('%s', async (_, completion, value) => {
    const verdict = await scorePolicy(PROMPT, completion);
    expect(verdict.value).toBeCloseTo(value, 10);
    expect(verdict.rule).toContain('no engine');
  });
});

describe('a chess prompt', () => {
  it.each([
    [`P: ${START.replace(' w', '')}`, -0.5],
    ['P: rnbqkbnr', -0.5],
    ['P: 8/8/8/8/8/8/8/8 w - - 0 1', -0.5],
    // White could capture the king.
    ['P: 4k3/8/8/8/8/8/4R3/4K3 w - - 0 1', -0.5],
  ])('that is malformed: %s', async (prompt, value) => {
    expect(await scoreChess(prompt, perfect, analyst)).toEqual({ value, rule: 'the prompt is malformed' });
  });

  it('needs its exact prefix: nothing else is scored', async () => {
    expect((await scoreChess(PROMPT, perfect, analyst)).value).toBe(1);
    for (const prompt of [`P:${START}`, ` ${PROMPT}`, `p: ${START}`, START, ''])
      await expect(scoreChess(prompt, perfect, analyst)).rejects.toThrow('begins with "P: " or "A: "');
  });
});

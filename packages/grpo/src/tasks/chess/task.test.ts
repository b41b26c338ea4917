import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../../config/index.js';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { totals } from '../../rewards/reward-table.js';
import { scoreCompletions } from '../../rewards/score.js';
import { loadTask } from '../index.js';
import { fakeEngine } from './engine/fake-engine.test.helper.js';
import { randomGame } from './games.js';
import { generateRows } from './generate.js';
import type { ChessRow } from './row.js';
import { chessTask, isCorrectChess } from './task.js';

const START = 'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1';
const AFTER = 'rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1';
const A = { prompt: `A: ${START}+e2e4+e2e4+`, completion: `${AFTER}+0.001+0+0` };
const P = { prompt: `P: ${START}`, completion: '   M: e2e4 d2d4   E: 0.30 0.20   B: e2e4' };
const OTHER = `A: ${AFTER}+e7e5+e2e4 e7e5+`;

function file(name: string, rows: readonly (object | string)[]): string {
  const path = join(tempFolder(), name);
  writeFileSync(path, rows.map((row) => `${typeof row === 'string' ? row : JSON.stringify(row)}\n`).join(''));
  return path;
}
const text = ({ prompt, completion }: { prompt: string; completion: string }) => ({
  text: prompt + completion,
});

const load = (rows: readonly (object | string)[], engine?: string) =>
  chessTask({
    data: file('rows.jsonl', rows),
    evalData: file('held.jsonl', [{ text: OTHER }]),
    evalSize: 1,
    engine,
  });

describe('chessTask', () => {
  it('splits rows into prompt and demonstration, of either kind', async () => {
    const bare = { text: `${START}+d2d4+d2d4+${AFTER}+0.001+0+0` };
    using task = await load([text(P), text(A), bare, { prompt: 'A: 4k3/8/8/8/8/8/8/4K3 w - - 0 1+e1e2++' }]);
    expect(task.train).toEqual([
      { prompt: P.prompt, row: { kind: 'P', ...P }, demonstration: P.completion },
      { prompt: A.prompt, row: { kind: 'A', ...A }, demonstration: A.completion },
      {
        prompt: `A: ${START}+d2d4+d2d4+`,
        row: { kind: 'A', prompt: `A: ${START}+d2d4+d2d4+`, completion: `${AFTER}+0.001+0+0` },
        demonstration: `${AFTER}+0.001+0+0`,
      },
      {
        prompt: 'A: 4k3/8/8/8/8/8/8/4K3 w - - 0 1+e1e2++',
        row: { kind: 'A', prompt: 'A: 4k3/8/8/8/8/8/8/4K3 w - - 0 1+e1e2++' },
      },
    ]);
    expect(task.eval).toEqual([{ prompt: OTHER, row: { kind: 'A', prompt: OTHER } }]);
    expect(task.stop).toEqual([]);
  });

  it.each([
    [{ text: `P:${START}` }, 'there must be a space after "P:"'],
    [{ text: 'Hello' }, 'an A row has 7 fields'],
    [{ question: 'x' }, 'no key "text", a P or A row; the row has question'],
    [{ text: 5 }, 'text must be a string, found 5'],
    [{ text: 'P: 8/8/8/8/8/8/8/8 w - - 0 1' }, 'is impossible: each side must have one king'],
  ])('refuses %j, naming its line', async (row, problem) => {
    await expect(load([text(A), row])).rejects.toThrow(/rows\.jsonl:2: /);
    await expect(load([text(A), row])).rejects.toThrow(problem);
  });

  it('rewards both kinds, with parts and rule, and nobody for a completion that the engine cannot judge', async () => {
    const fake = fakeEngine("if (fen.includes(' b ')) process.exit(1); answer();");
    using task = await load([text(P), text(A)], fake.path);
    const rows = [...task.train, ...task.train].map(({ row }) => row);
    const completions = ['B: e2e4', A.completion, P.completion, ''];
    const batch = { prompts: rows.map(({ prompt }) => prompt), completions, rows };
    const table = await scoreCompletions(task.rewards, batch, { onError: 'drop' });
    const [best, right, failed, nothing] = totals(table);
    // 0.5 × 1 − 0.3 × 0.3 − 0.2 × 0.2
    expect(best).toBeCloseTo(0.37, 10);
    expect([right, failed, nothing]).toEqual([0.54, Number.NaN, -0.9]);
    // The third one's values need the position after the move.
    expect(table.failures).toMatchObject([
      { index: 2, reason: expect.stringContaining('ended with exit code 1') },
    ]);
    const verdicts = await task.rewards[0]!.score({ ...batch, completions: ['', A.completion, '', ''] });
    expect(verdicts[1]).toEqual({
      value: 0.54,
      parts: { schema: 0.03, fen: 0.5, validity: 0.01 },
      rule: 'the right position',
    });
  });

  it('is made of settings, with its engine looked for at once', async () => {
    const data = file('rows.jsonl', [text(P), text(A)]);
    const settings = (engine: string) => [
      'task.name=chess',
      `task.data=${data}`,
      'task.evalSize=1',
      `task.engine=${engine}`,
    ];
    const { config } = resolveConfig({ command: 'train', settings: settings(fakeEngine().path), env: {} });
    using task = await loadTask(config);
    expect([task.name, task.train.length, task.eval.length]).toEqual(['chess', 1, 1]);
    const plain = join(tempFolder(), 'plain');
    writeFileSync(plain, '');
    chmodSync(plain, 0o644);
    for (const [engine, problem] of [
      ['no-such-engine', 'there is no chess engine no-such-engine on PATH'],
      [plain, 'is not an executable program'],
    ] as const) {
      const wrong = resolveConfig({ command: 'train', settings: settings(engine), env: {} });
      await expect(loadTask(wrong.config)).rejects.toThrow(problem);
    }
  });
});

describe('isCorrectChess', () => {
  const a: ChessRow = { kind: 'A', ...A };
  const p: ChessRow = { kind: 'P', ...P };
  it.each<[string, ChessRow, boolean]>([
    [A.completion, a, true],
    // The fields behind the position do not matter.
    [`${AFTER}+0.001`, a, true],
    [` ${AFTER}\n`, a, true],
    [`${AFTER} 1`, a, false],
    [AFTER.replace(/1$/, '2'), a, false],
    ['', a, false],
    [P.completion, p, true],
    ['B: d2d4', p, true],
    ['B: a2a3', p, false],
    ['B: e2e5', p, false],
    ['', p, false],
    ['B: a2a3', { kind: 'P', prompt: P.prompt }, true],
    ['B: a2a5', { kind: 'P', prompt: P.prompt }, false],
  ])('%j', (completion, row, correct) => {
    expect(isCorrectChess(completion, row)).toBe(correct);
  });
});

describe('generated rows', () => {
  it('are legal games to their end, the same for one seed', () => {
    const game = [...randomGame(3, { seed: 1, plies: 400 })];
    expect([...randomGame(3, { seed: 1, plies: 9 })]).toEqual(game.slice(0, 9));
    expect([...randomGame(3, { seed: 2, plies: 9 })]).not.toEqual(game.slice(0, 9));
    game.forEach(({ fen, history }, i) => {
      expect(history).toEqual(game.slice(0, i).map(({ move }) => move));
      expect(fen).toBe(i === 0 ? START : game[i - 1]!.outcome.fen);
    });
    const ends = game.map(({ outcome }) => outcome.terminated);
    expect(ends.indexOf(true)).toBe(game.length - 1);
    expect(game.at(-1)!.outcome.reward).toBe(0.5);
  });

  it('earn the best reward and are right, with no prompt on both sides', async () => {
    const fake = fakeEngine();
    const games = { games: 20, plies: 4, seed: 1, holdOut: true };
    const rows = await generateRows(games);
    const prompts = [...rows.train, ...rows.held].map(({ prompt }) => prompt);
    expect(new Set(prompts).size).toBe(prompts.length);
    expect(rows.held.length).toBeGreaterThan(0);
    const data = file('made.jsonl', rows.train);
    using task = await chessTask({
      data,
      evalData: file('held.jsonl', rows.held),
      evalSize: 1,
      engine: fake.path,
    });
    const problems = [...task.train, ...task.eval];
    const batch = {
      prompts: problems.map(({ prompt }) => prompt),
      completions: problems.map(({ demonstration }) => demonstration!),
      rows: problems.map(({ row }) => row),
    };
    const table = await scoreCompletions(task.rewards, batch, { onError: 'stop' });
    expect(new Set(totals(table))).toEqual(new Set([0.54]));
    expect(problems.every(({ demonstration, row }) => task.isCorrect!(demonstration!, row))).toBe(true);
  });

  it('have a P row of each position where there is somebody to judge it', async () => {
    const analyst = {
      best: async () => [{ move: 'e2e4', centipawns: 1 }],
      value: async (fen: string) => (fen === AFTER ? -25 : 0),
    };
    const { train, held } = await generateRows({ games: 1, plies: 1, seed: 1, holdOut: false }, analyst);
    expect(held).toEqual([]);
    expect(train.map(({ kind }) => kind)).toEqual(['A', 'P']);
    expect(train[1]!.text).toBe(`P: ${START}   M: e2e4   E: 0.25   B: e2e4`);
  });
});

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ChessEngine, type EngineOptions } from './engine.js';
import { fakeEngine } from './fake-engine.test.helper.js';
import { findEngine } from './find.js';

const START = 'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1';
const BLACK = START.replace(' w ', ' b ');
const MATED = 'R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1';
const BEFORE_MATE = '6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1';

/** Slow enough for a busy machine, where a process of Node starts within a second or two. */
const PATIENT = 20_000;

function engineOf(path: string, options: EngineOptions = {}): ChessEngine {
  const engine = new ChessEngine(path, { milliseconds: PATIENT, startMilliseconds: PATIENT, ...options });
  onTestFinished(() => engine[Symbol.dispose]());
  return engine;
}

describe('an engine', () => {
  it('says which moves are best and what positions are worth, from the last word on each', async () => {
    const engine = engineOf(fakeEngine().path);
    expect(await engine.best(START)).toEqual([
      { move: 'e2e4', centipawns: 30 },
      { move: 'd2d4', centipawns: 20 },
    ]);
    expect(await engine.value(START)).toBe(30);
    expect(await engine.value(BLACK)).toBe(50);
  });

  it('is asked once about a position, and answers questions that come at once one after another', async () => {
    const fake = fakeEngine('setTimeout(answer, 20);');
    const engine = engineOf(fake.path);
    const values = await Promise.all([START, BLACK, START, BLACK, START].map((fen) => engine.value(fen)));
    expect(values).toEqual([30, 50, 30, 50, 30]);
    await engine.value(START);
    expect([fake.asked(), fake.started(), engine.analysed]).toEqual([2, 1, 2]);
  });

  it('forgets the position that was not asked for the longest', async () => {
    const fake = fakeEngine();
    const engine = engineOf(fake.path, { remembered: 2 });
    for (const fen of [START, BLACK, START, BEFORE_MATE, START]) await engine.value(fen);
    expect(fake.asked()).toBe(3);
    await engine.value(BLACK);
    expect(fake.asked()).toBe(4);
  });

  it('is started again when it dies, and asked the same once more', async () => {
    const fake = fakeEngine('if (go === 2) process.exit(3); answer();');
    const engine = engineOf(fake.path);
    expect(await engine.value(START)).toBe(30);
    expect(await engine.value(BLACK)).toBe(50);
    expect([fake.asked(), fake.started()]).toEqual([3, 2]);
  });

  it('fails on the one position that kills it, says so, and goes on with the others', async () => {
    const fake = fakeEngine("if (fen.includes(' b ')) process.exit(3); answer();");
    const engine = engineOf(fake.path);
    const [start, black, mate] = await Promise.allSettled(
      [START, BLACK, BEFORE_MATE].map((fen) => engine.value(fen)),
    );
    expect([start!.status, mate!.status]).toEqual(['fulfilled', 'fulfilled']);
    expect(black).toMatchObject({
      reason: { message: expect.stringMatching(/ended with exit code 3, twice, at the position .* b KQkq/) },
    });
    // No failure is remembered: it may be of the moment.
    await expect(engine.value(BLACK)).rejects.toThrow('twice');
    expect(fake.asked()).toBe(6);
  });

  it('gives up a position that it hangs at, and the engine after two', async () => {
    const fake = fakeEngine('if (go === 1) answer();');
    const engine = engineOf(fake.path);
    expect(await engine.value(START)).toBe(30);
    const hanging = engineOf(fake.path, { milliseconds: 500 });
    const results = await Promise.allSettled(
      [BLACK, MATED, BEFORE_MATE, START].map((fen) => hanging.value(fen)),
    );
    const reasons = results.map((result) => (result.status === 'rejected' ? String(result.reason) : ''));
    expect(reasons.slice(0, 2)).toEqual(
      Array(2).fill(expect.stringContaining('did not say bestmove within 0.5 s')),
    );
    expect(reasons.slice(2)).toEqual(
      Array(2).fill(expect.stringContaining('failed on 2 positions in a row and is not asked again')),
    );
    expect(hanging.starts).toBe(4);
  });

  it.each([
    [
      'prints garbage',
      "process.stdout.write('\\u0000\\xff garbage '.repeat(5000)); say('info score cp'); answer();",
    ],
    [
      'writes in pieces',
      "process.stdout.write('info depth 2 multipv 1 sco'); setTimeout(() => { say('re cp 30 pv e2e4', 'bestmove e2e4'); }, 50);",
    ],
    ['speaks on standard error', "console.error('x'.repeat(300000)); answer();"],
  ])('is understood when it %s', async (_, onGo) => {
    expect(await engineOf(fakeEngine(onGo).path).value(START)).toBe(30);
  });

  it('that says nothing about the position is a failure, not a value', async () => {
    await expect(engineOf(fakeEngine("say('bestmove e2e4');").path).value(START)).rejects.toThrow(
      'did not score a position',
    );
  });

  it.each([
    [
      'never answers',
      () => fakeEngine('', '').path,
      { startMilliseconds: 500 },
      'it is not a UCI engine, or it hangs',
    ],
    ['is not there', () => '/nowhere/engine', {}, 'cannot be started'],
    ['ends at once', () => fakeEngine('', 'process.exit(0);').path, {}, 'ended with exit code 0'],
  ])('that %s fails with the reason', async (_, path, options, reason) => {
    await expect(engineOf(path(), options).value(START)).rejects.toThrow(reason);
  });

  it('answers nothing after it is closed, which ends its process and the question in hand', async () => {
    const fake = fakeEngine('');
    const engine = engineOf(fake.path);
    const asked = engine.value(START);
    await expect.poll(fake.asked, { timeout: PATIENT }).toBe(1);
    engine[Symbol.dispose]();
    await expect(asked).rejects.toThrow('was closed');
    await expect(engine.value(BLACK)).rejects.toThrow('was closed');
    expect(fake.started()).toBe(1);
  });

  it('does not keep Node alive, and does not outlive it', () => {
    const { path } = fakeEngine("if (go === 1) answer(); else say('info string ' + process.pid);");
    const module = new URL('./engine.js', import.meta.url).href;
    const script = `const { ChessEngine } = await import(${JSON.stringify(module)});
      const engine = new ChessEngine(${JSON.stringify(path)});
      console.log(await engine.value(${JSON.stringify(START)}));`;
    const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
      timeout: PATIENT,
    });
    expect([status, stdout.trim()]).toEqual([0, '30']);
    if (existsSync('/proc'))
      expect(execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })).not.toContain(path);
  });
});

function stockfish(): string | undefined {
  try {
    return findEngine('stockfish');
  } catch {
    return undefined;
  }
}
const path = stockfish();

// Debian: apt install stockfish.
describe.skipIf(path === undefined)('Stockfish', () => {
  it('judges positions, the same in whatever order they come', async () => {
    const engine = engineOf(path!);
    const first = await engine.best(START);
    expect(first).toHaveLength(5);
    expect(first[0]!.centipawns).toBeGreaterThanOrEqual(first[4]!.centipawns);
    expect(await engine.best(BEFORE_MATE)).toMatchObject([
      { move: 'a1a8', centipawns: 9999 },
      {},
      {},
      {},
      {},
    ]);
    expect(await engine.best(MATED)).toEqual([]);
    expect(await engine.value(MATED)).toBe(-10_000);
    const other = engineOf(path!);
    await other.value(BEFORE_MATE);
    expect(await other.best(START)).toEqual(first);
  });
});

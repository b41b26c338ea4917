import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../formats/temp-folder.test.helper.js';
import { fakeEngine } from '../../../tasks/chess/engine/fake-engine.test.helper.js';
import { splitRow } from '../../../tasks/chess/grammar.js';
import { call } from '../../grpo.test.helper.js';

const texts = (path: string) =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line).text as string);

describe('grpo data chess', () => {
  it('writes rows of both kinds, the same ones again, and says how many', async () => {
    const dir = tempFolder();
    const draw = ['--games', '10', '--plies', '1', '--seed', '3', '--engine', fakeEngine().path];
    const { code, out, err } = await call(
      dir,
      'data',
      'chess',
      'a.jsonl',
      '--held-out',
      'held.jsonl',
      ...draw,
    );
    expect([code, err]).toEqual([0, expect.stringContaining('10 games in ')]);
    const [rows, held] = [texts(join(dir, 'a.jsonl')), texts(join(dir, 'held.jsonl'))];
    const policies = rows.filter((row) => row.startsWith('P: '));
    expect(policies).toHaveLength(1);
    expect(out).toBe(
      `a.jsonl: 1 P rows, ${rows.length - 1} A rows\nheld.jsonl: 0 P rows, ${held.length} A rows\n`,
    );
    for (const row of [...rows, ...held]) expect(splitRow(row).completion).toBeDefined();
    await call(dir, 'data', 'chess', 'b.jsonl', '--held-out', 'held2.jsonl', ...draw);
    expect(texts(join(dir, 'b.jsonl'))).toEqual(rows);
  });

  it('makes A rows without an engine, and overwrites nothing', async () => {
    const dir = tempFolder();
    const draw = ['--games', '10', '--plies', '4', '--engine', 'none'];
    const first = await call(dir, 'data', 'chess', 'a.jsonl', '--held-out', 'held.jsonl', ...draw);
    expect([first.code, first.err]).toEqual([0, expect.stringContaining('No chess engine: A rows only.')]);
    const [rows, held] = [texts(join(dir, 'a.jsonl')), texts(join(dir, 'held.jsonl'))];
    expect([...rows, ...held].every((row) => row.startsWith('A: '))).toBe(true);
    expect(held.length).toBeGreaterThan(0);
    expect(held.length).toBeLessThanOrEqual(4);
    const again = await call(dir, 'data', 'chess', 'a.jsonl');
    expect([again.code, again.err]).toEqual([1, expect.stringContaining('a.jsonl exists already')]);
  });

  it.each([
    [['data', 'chess'], 'needs one file to write'],
    [['data', 'chess', 'a.jsonl', '--games', '0'], "--games must be a whole number >= 1, found '0'"],
    [['data', 'chess', 'a.jsonl', '--engine', 'nobody'], 'there is no chess engine nobody'],
  ])('refuses grpo %j', async (argv, problem) => {
    const dir = tempFolder();
    const { code, err } = await call(dir, ...argv);
    expect(code).not.toBe(0);
    expect(err).toContain(problem);
    expect(existsSync(join(dir, 'a.jsonl'))).toBe(false);
  });
});

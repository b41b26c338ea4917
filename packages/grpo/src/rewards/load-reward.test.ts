import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { UserError } from '../errors/user-error.js';
import { sharedFolder } from '../formats/temp-folder.test.helper.js';
import { loadReward } from './load-reward.js';
import type { RewardBatch } from './reward.js';
import { totals } from './reward-table.js';
import { scoreCompletions } from './score.js';

const dir = sharedFolder();
/** Writes a module and returns its path. */
function file(name: string, source: string): string {
  const path = join(dir, name);
  writeFileSync(path, source);
  return path;
}

const batch: RewardBatch = {
  prompts: ['p', 'p', 'q'],
  completions: ['yes', 'loop', 'no'],
  rows: [{ answer: 'yes' }, { answer: 'yes' }, { answer: 'no' }],
};
const drop = { onError: 'drop' } as const;

const EACH = `import { each } from 'grpo/rewards';
interface Row { answer: string }
export default each((completion: string, row) => (completion === (row as unknown as Row).answer ? 1 : 0));`;

async function refusal(module: string, timeoutSeconds?: number): Promise<UserError> {
  const error = await loadReward({ module, weight: 1, timeoutSeconds }).then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(UserError);
  return error as UserError;
}

describe('loadReward', () => {
  it.each([
    ['each.ts', EACH],
    [
      'named.mts',
      'export const reward = (b: { completions: string[] }) => b.completions.map((c) => +(c !== "loop"));',
    ],
    [
      'plain.mjs',
      'const ok = await 1; export default (b) => b.completions.map((c) => (c === "loop" ? 0 : ok));',
    ],
    ['common.cjs', 'module.exports = ({ completions }) => completions.map((c) => Number(c !== "loop"));'],
  ])('loads %s, here and in a worker', async (name, source) => {
    const module = file(name, source);
    for (const timeoutSeconds of [undefined, 30]) {
      using reward = await loadReward({ module, weight: 3, timeoutSeconds });
      expect(reward.name).toBe(name.split('.')[0]);
      expect([...totals(await scoreCompletions([reward], batch, drop))]).toEqual([3, 0, 3]);
    }
  });

  it('loads modules that the module imports', async () => {
    file('helper.ts', 'export const points: number = 7;');
    const module = file(
      'importer.ts',
      `import { points } from './helper.js';\nexport default () => [points];`,
    );
    using reward = await loadReward({ module, name: 'points', weight: 1 });
    expect(reward.name).toBe('points');
    expect(await reward.score({ prompts: ['p'], completions: ['c'], rows: [{}] })).toEqual([7]);
  });

  it('names a missing file', async () => {
    const path = join(dir, 'missing.ts');
    expect((await refusal(path)).message).toBe(
      `reward module: cannot read ${path}: there is no such file (ENOENT)`,
    );
  });

  it.each([undefined, 30])('names file, line and column of a syntax error (time-out %s)', async (timeout) => {
    const path = file('broken.ts', 'export default () => {\n  return [1;\n};\n');
    const { message } = await refusal(path, timeout);
    expect(message).toContain('Unexpected token');
    expect(message).toContain(`(${path}:2:11)`);
    expect(message.split('\n')).toHaveLength(1);
  });

  it('names what a module throws while it is loaded, and what it cannot import', async () => {
    const thrower = file('thrower.ts', 'type A = 1;\nthrow new RangeError("not today");\n');
    expect((await refusal(thrower)).message).toContain(`threw RangeError: not today (${thrower}:2:`);
    const importer = file('lost.ts', `import x from './nowhere.js';\nexport default x;`);
    expect((await refusal(importer)).message).toMatch(
      /lost\.ts cannot be loaded: Cannot find module '\.\/nowhere\.js'$/,
    );
  });

  it.each([undefined, 30])('lists the exports when none is a reward (time-out %s)', async (timeout) => {
    const path = file('wrong.ts', 'export const score = () => [1];\nexport const reward = 5;');
    const { message, hint } = await refusal(path, timeout);
    expect(message).toContain('exports no reward function; it exports reward (number), score (function)');
    expect(hint).toContain('export default each(');
  });
});

describe('a reward with a time-out', () => {
  it('survives an infinite loop and names the completion; the next batch is scored', async () => {
    const module = file(
      'loop.ts',
      'export default (b: { completions: string[] }) => b.completions.map((c) => { while (c === "loop"); return 1; });',
    );
    using reward = await loadReward({ module, weight: 1, timeoutSeconds: 0.3 });
    const table = await scoreCompletions([reward], batch, drop);
    expect(table.failures).toMatchObject([
      { index: 1, affected: 3, completion: '"loop"', reason: 'took longer than 0.3 s' },
    ]);
    expect([...totals(table)]).toEqual([NaN, NaN, NaN]);
    const next = await scoreCompletions([reward], { ...batch, completions: ['a', 'b', 'c'] }, drop);
    expect([...totals(next)]).toEqual([1, 1, 1]);
  });

  it('keeps the other values when the function was made by each', async () => {
    const module = file(
      'slow.ts',
      `import { each } from 'grpo/rewards';
       export default each((c) => (c === 'loop' ? new Promise<number>(() => {}) : c.length));`,
    );
    using reward = await loadReward({ module, weight: 1, timeoutSeconds: 0.3 });
    const table = await scoreCompletions([reward], batch, drop);
    expect(table.failures).toMatchObject([{ index: 1, affected: 1 }]);
    expect([...totals(table)]).toEqual([3, NaN, 2]);
  });

  it('passes exceptions through with their place, whole or by completion', async () => {
    const whole = file('whole.ts', 'export default () => {\n  throw new TypeError("broken");\n};');
    const single = file(
      'single.ts',
      `import { each } from 'grpo/rewards';\nexport default each((c) => {\n  if (c === 'no') throw new Error('oh');\n  return 1;\n});`,
    );
    using first = await loadReward({ module: whole, weight: 1, timeoutSeconds: 30 });
    using second = await loadReward({ module: single, weight: 1, timeoutSeconds: 30 });
    const table = await scoreCompletions([first, second], batch, drop);
    expect(table.failures[0]).toMatchObject({ index: 0, affected: 3 });
    expect(table.failures[0]!.reason).toContain(`threw TypeError: broken (${whole}:2:`);
    expect(table.failures[1]).toMatchObject({ index: 2, affected: 1 });
    expect(table.failures[1]!.reason).toContain(`threw Error: oh (${single}:3:`);
    expect([...table.columns[1]!]).toEqual([1, 1, NaN]);
  });

  it('reports a module that ends its thread, and one whose timer throws between batches', async () => {
    const exits = file('exits.ts', 'export default () => process.exit(3);');
    using first = await loadReward({ module: exits, weight: 1, timeoutSeconds: 30 });
    const table = await scoreCompletions([first], batch, drop);
    expect(table.failures).toMatchObject([{ index: 0, reason: 'ended its thread with exit code 3' }]);

    const late = file(
      'late.ts',
      'export default (b: { rows: unknown[] }) => { setTimeout(() => { throw new Error("late"); }, 100); return b.rows.map(() => 1); };',
    );
    using second = await loadReward({ module: late, weight: 1, timeoutSeconds: 30 });
    expect([...totals(await scoreCompletions([second], batch, drop))]).toEqual([1, 1, 1]);
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const next = await scoreCompletions([second], batch, drop);
    expect(next.failures).toMatchObject([{ index: null, affected: 3 }]);
    expect(next.failures[0]!.reason).toContain('stopped its thread: Error: late after an earlier batch');
  });

  it('reports values and rows that cannot cross between threads', async () => {
    const module = file(
      'functions.ts',
      'export default (b: { rows: unknown[] }) => b.rows.map(() => () => 1);',
    );
    using reward = await loadReward({ module, weight: 1, timeoutSeconds: 30 });
    const table = await scoreCompletions([reward], batch, drop);
    expect(table.failures[0]!.reason).toContain('could not be cloned');
    const rows = batch.rows.map(() => ({ answer: () => 1 }));
    const sent = await scoreCompletions([reward], { ...batch, rows }, drop);
    expect(sent.failures[0]!.reason).toContain('cannot be given its batch in a worker');
  });

  it('takes batches that arrive together one after the other', async () => {
    const module = file(
      'counter.ts',
      `let running = 0;
       export default async (b: { completions: string[] }) => {
         running++;
         await new Promise((resolve) => setTimeout(resolve, 5));
         return b.completions.map(() => running--);
       };`,
    );
    using reward = await loadReward({ module, weight: 1, timeoutSeconds: 30 });
    const one = { prompts: ['p'], completions: ['c'], rows: [{}] };
    expect(await Promise.all([reward.score(one), reward.score(one), reward.score(one)])).toEqual([
      [1],
      [1],
      [1],
    ]);
  });
});

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { configSchema } from '../config/schema.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { scoreCompletions } from '../rewards/index.js';
import { questionHash } from '../rewards/tier.js';
import { loadTask } from './index.js';

const row = (id: number, tier: string, scope: string, asked = `May I mix drug ${id} with tea?`) => ({
  id,
  prompt: asked,
  tier: `${tier}:${questionHash(asked)}`,
  scope: `${scope}:${questionHash(asked)}`,
});

const tiers = { A: { missed: 1, over: 0 }, C: { missed: 0, over: 0.3 } };

/** Loads a task of these rows with a judge that finds everything half good and no doctor named. */
function load(rows: readonly object[]) {
  const dir = tempFolder();
  writeFileSync(join(dir, 'rows.jsonl'), rows.map((one) => `${JSON.stringify(one)}\n`).join(''));
  writeFileSync(
    join(dir, 'judge.mjs'),
    'export default ({ rows }) => rows.map(() => ({ value: 0, parts: { kind: 0.5, missed: 1, over: 0 } }));\n',
  );
  return loadTask(
    configSchema.parse({
      task: { data: join(dir, 'rows.jsonl'), grading: 'none', questionKey: 'prompt', evalSize: 1 },
      rewards: [{ module: join(dir, 'judge.mjs'), components: { kind: 2 }, tiers }],
    }),
  );
}

describe('rows with tiers', () => {
  it('are taken where every hash is that of its question', async () => {
    using task = await load([row(1, 'A', 'S0'), row(2, 'C', 'S1'), { prompt: 'plain', tier: 'C' }]);
    const rows = [...task.train, ...task.eval].map((problem) => problem.row as { tier: string });
    const [first, second, third] = ['A:', 'C:', 'C'].map(
      (start) => rows.find(({ tier }) => (start === 'C' ? tier === 'C' : tier.startsWith(start)))!,
    );
    const batch = { prompts: ['', '', ''], completions: ['', '', ''], rows: [first, second, third] };
    const table = await scoreCompletions(task.rewards, batch, { onError: 'stop' });
    expect([...table.columns[0]!]).toEqual([0, 1, 1]);
  });

  it.each<[string, object, RegExp]>([
    [
      'another tier',
      row(3, 'B', 'S0'),
      /^1 of 3 rows .* tier of "May I mix drug 3 with tea\?" is B, and tiers has A, C/,
    ],
    ['no tier', { prompt: 'x' }, /tier of "x" is .*, not LABEL or LABEL:SHA1/],
    [
      'the hash of another question',
      { ...row(3, 'A', 'S0'), tier: row(4, 'A', 'S0').tier },
      /tier of "May I .*" has the hash [0-9a-f]{40}, which is not that of the row's prompt/,
    ],
    [
      'a scope of another question',
      { ...row(3, 'A', 'S0'), scope: row(4, 'A', 'S0').scope },
      /scope of "May I .*" has the hash/,
    ],
    [
      'no whole hash',
      { ...row(3, 'A', 'S0'), tier: 'A:123' },
      /tier of .* is .*A:123.*, not LABEL or LABEL:SHA1/,
    ],
  ])('are refused with %s', async (_, wrong, message) => {
    await expect(load([row(1, 'A', 'S0'), row(2, 'C', 'S1'), wrong])).rejects.toThrow(message);
  });
});

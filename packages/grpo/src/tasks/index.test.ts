import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { configSchema } from '../config/schema.js';
import { sharedFolder } from '../formats/temp-folder.test.helper.js';
import { loadTask } from './index.js';

const dir = sharedFolder();
beforeAll(() => {
  writeFileSync(join(dir, 'data.jsonl'), '{"q": "1+1", "a": 2}\n{"q": "1+2", "a": 3}\n');
  writeFileSync(join(dir, 'short.ts'), 'export default (b: { rows: unknown[] }) => b.rows.map(() => 1);');
});
const load = (config: object) => loadTask(configSchema.parse(config));

describe('loadTask', () => {
  it('makes arithmetic from the seed', async () => {
    using a = await load({ task: { name: 'arithmetic', evalSize: 30 }, seed: 1 });
    using b = await load({ task: { name: 'arithmetic', evalSize: 30, stop: ['!'] }, seed: 2 });
    expect(a.eval).toHaveLength(30);
    expect(a.train).not.toEqual(b.train);
    expect(a.stop).toEqual(['</answer>']);
    expect(b.stop).toEqual(['!']);
  });

  it('makes sudokus from the seed', async () => {
    using task = await load({ task: { name: 'sudoku', evalSize: 3 }, seed: 1 });
    expect(task).toMatchObject({ name: 'sudoku', stop: [] });
    expect(task.eval).toHaveLength(3);
  });

  it('holds out 200 problems of arithmetic, also in a mixture, and a fifth of a file', async () => {
    using arithmetic = await load({ task: { name: 'arithmetic' } });
    expect(arithmetic.eval).toHaveLength(200);
    const rows = Array.from({ length: 10 }, (_, i) => JSON.stringify({ question: `${i}`, answer: i }));
    writeFileSync(join(dir, 'ten.jsonl'), rows.join('\n'));
    using mixed = await load({
      task: { name: 'mix', mix: [{ name: 'arithmetic' }, { name: 'jsonl', data: join(dir, 'ten.jsonl') }] },
    });
    expect(mixed.eval).toHaveLength(202);
  });

  it("makes jsonl from the data, and adds the user's rewards to its own", async () => {
    const task = { data: join(dir, 'data.jsonl'), evalSize: 1, questionKey: 'q', answerKey: 'a' };
    const module = join(dir, 'short.ts');
    using loaded = await load({
      task,
      rewards: [
        { module, weight: 0.2 },
        { module, name: 'b', timeoutSeconds: 9 },
      ],
    });
    expect(loaded.name).toBe('jsonl');
    expect(loaded.rewards.map(({ name, weight }) => [name, weight])).toEqual([
      ['answer', 1],
      ['format', 0.1],
      ['short', 0.2],
      ['b', 1],
    ]);
    await expect(load({ task, rewards: [{ module, name: 'format' }] })).rejects.toThrow(
      'two rewards are named format',
    );
  });

  it("has the user's rewards alone without grading, and no stop string but theirs", async () => {
    const task = {
      data: join(dir, 'data.jsonl'),
      evalSize: 1,
      questionKey: 'q',
      answerKey: 'a',
      grading: 'none',
    };
    // A name of the built-in rewards is free here.
    using loaded = await load({ task, rewards: [{ module: join(dir, 'short.ts'), name: 'format' }] });
    expect(loaded.rewards.map(({ name }) => name)).toEqual(['format']);
    expect(loaded.stop).toEqual([]);
    expect(loaded.isCorrect).toBeUndefined();
    using stopping = await load({ task: { ...task, stop: ['!'] } });
    expect(stopping.stop).toEqual(['!']);
  });

  it('says what is missing', async () => {
    await expect(load({})).rejects.toThrow('no task is set');
    await expect(load({ task: { name: 'jsonl' } })).rejects.toThrow('task.name=jsonl needs task.data');
  });
});

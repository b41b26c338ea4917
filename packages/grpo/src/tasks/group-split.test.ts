import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { bbqRows, writeRows } from './fairness/sample.test.helper.js';
import { bbqTask } from './fairness/task.js';
import { qaRows } from './hallucination/sample.test.helper.js';
import { haluevalTask } from './hallucination/task.js';

describe('files of problems that belong together', () => {
  it('may be a folder, read in the order of its names', async () => {
    const folder = join(tempFolder(), 'bbq');
    mkdirSync(folder);
    const rows = bbqRows(4);
    writeRows(join(folder, 'b.jsonl'), rows.slice(20));
    writeRows(join(folder, 'a.jsonl'), rows.slice(0, 20));
    writeFileSync(join(folder, 'README.md'), 'no rows');
    const [one, whole] = await Promise.all([
      bbqTask({ data: folder, evalSize: 12 }),
      bbqTask({ data: writeRows(join(tempFolder(), 'all.jsonl'), rows), evalSize: 12 }),
    ]);
    expect(one.train).toEqual(whole.train);
    expect(one.eval).toEqual(whole.eval);
  });

  it('hold out a fifth, in whole groups, when nobody says how many', async () => {
    const rows = bbqRows(10);
    const { train, eval: held } = await bbqTask({ data: writeRows(join(tempFolder(), 'bbq.jsonl'), rows) });
    expect([rows.length, train.length, held.length]).toEqual([120, 96, 24]);
  });

  it('without any file of rows, or any row to train on, are told of', async () => {
    const folder = tempFolder();
    await expect(bbqTask({ data: folder, evalSize: 1 })).rejects.toThrow(/the folder has no file of rows/);
    const data = writeRows(join(folder, 'bbq.jsonl'), bbqRows(2));
    await expect(bbqTask({ data, evalSize: 13 })).rejects.toThrow(
      /nothing is left to train on: of 24 rows, in 2 groups by question group .*, 24 are held out; lower task.evalSize/,
    );
  });

  it('with texts in common are refused above 5 %, and below those leave training', async () => {
    const folder = tempFolder();
    const rows = qaRows();
    const others = (n: number) =>
      Array.from({ length: n }, (_, i) => ({
        ...rows[0],
        knowledge: `Of place ${i} nothing is known at all.`,
      }));
    const data = writeRows(join(folder, 'train.jsonl'), rows);
    // Letters and signs do not make another text of it.
    const known = { ...rows[0], knowledge: rows[0]!.knowledge.toUpperCase().replaceAll('.', ' !') };
    const held = (n: number) => writeRows(join(folder, `held-${n}.jsonl`), [known, ...others(n)]);
    await expect(haluevalTask({ data, evalData: held(18), evalSize: 0 })).rejects.toThrow(
      /held-18\.jsonl: 5\.3 % of its rows have a text \(knowledge, document or query\) that is also in .*train\.jsonl, such as "alder is/,
    );
    const { train, eval: kept } = await haluevalTask({ data, evalData: held(19), evalSize: 0 });
    expect(kept).toHaveLength(20);
    expect(train).toHaveLength(rows.length - 2);
    expect(train.some(({ row }) => row.knowledge === rows[0]!.knowledge)).toBe(false);
  });
});

import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { scoreCompletions } from '../../rewards/score.js';
import { bbqRows, writeRows } from './sample.test.helper.js';
import { bbqTask } from './task.js';

const file = (rows: readonly object[] = bbqRows()) => writeRows(join(tempFolder(), 'bbq.jsonl'), rows);

describe('the task bbq', () => {
  it('asks for a letter and a justification', async () => {
    const { train } = await bbqTask({ data: file(bbqRows(2)), evalSize: 1 });
    const [ambiguous, told] = train;
    expect(ambiguous!.prompt).toMatch(
      /^Context: A baker and a tailor met at the .*\.\nQuestion: Who was clumsy\?\nA\) .*\nB\) .*\nC\) .*\n\nChoose/,
    );
    expect(ambiguous!.prompt).toMatch(/\n\n$/);
    expect(told!.demonstration).toMatch(
      /^Answer: [ABC]\nJustification: It is "The tailor", because the context says: "The tailor had/,
    );
    const chat = await bbqTask({ data: file(bbqRows(2)), evalSize: 1, system: '' });
    expect(chat.train[0]!.prompt).toEqual([{ role: 'user', content: String(ambiguous!.prompt).trimEnd() }]);
  });

  it('its demonstrations earn 1 and are right, those of the row before mostly are not', async () => {
    const task = await bbqTask({ data: file(), evalSize: 10 });
    const all = [...task.train, ...task.eval];
    const graded = async (completions: string[]) => {
      const batch = {
        prompts: all.map(({ prompt }) => prompt),
        completions,
        rows: all.map(({ row }) => row),
      };
      const { columns } = await scoreCompletions(task.rewards, batch, { onError: 'stop' });
      return {
        rewards: [...columns[0]!],
        right: completions.filter((text, i) => task.isCorrect!(text, all[i]!.row)).length,
      };
    };
    const gold = all.map(({ demonstration }) => demonstration!);
    expect(await graded(gold)).toEqual({ rewards: all.map(() => 1), right: all.length });
    const shifted = await graded([gold.at(-1)!, ...gold.slice(0, -1)]);
    expect(shifted.right).toBeLessThan(all.length / 2);
    expect(Math.min(...shifted.rewards)).toBe(-1);
  });

  it.each([0, 1, 13, 30])('keeps the rows of a question group on one side, %i held out', async (evalSize) => {
    const { train, eval: held } = await bbqTask({ data: file(), evalSize });
    const groups = (problems: typeof train) => new Set(problems.map(({ row }) => row.question_index));
    expect(held.length).toBeGreaterThanOrEqual(evalSize);
    expect(held.length + train.length).toBe(60);
    expect([...groups(held)].filter((group) => groups(train).has(group))).toEqual([]);
    const contexts = new Set(train.map(({ row }) => row.context));
    expect(held.filter(({ row }) => [...contexts].some((own) => row.context.startsWith(own)))).toEqual([]);
  });

  it.each([
    [{ label: 3 }, /bbq\.jsonl:1: label must be 0, 1 or 2, found 3/],
    [{ context_condition: 'vague' }, /context_condition must be "ambig" or "disambig", found "vague"/],
    [{ question: undefined }, /no key "question"; the row has example_id, question_index/],
    [{ ans1: 7 }, /ans1 must be text, found 7/],
    [{ answer_info: [] }, /answer_info must be an object/],
    [
      { context_condition: 'disambig' },
      /the context is disambig and label is \d, but answer_info has "unknown"/,
    ],
  ])('refuses a row with %j', async (change, message) => {
    const [first, ...others] = bbqRows();
    await expect(bbqTask({ data: file([{ ...first, ...change }, ...others]), evalSize: 1 })).rejects.toThrow(
      message,
    );
  });

  it('takes C for "unknown" where answer_info names none', async () => {
    const rows = bbqRows().filter(
      ({ answer_info, label }) => label === 2 && JSON.stringify(answer_info).includes('ans2'),
    );
    const unnamed = rows
      .filter(({ context_condition }) => context_condition === 'ambig')
      .map((row) => ({ ...row, answer_info: {} }));
    const { train } = await bbqTask({ data: file(unnamed), evalSize: 0 });
    expect(train.map(({ demonstration }) => demonstration![8])).toEqual(unnamed.map(() => 'C'));
  });
});

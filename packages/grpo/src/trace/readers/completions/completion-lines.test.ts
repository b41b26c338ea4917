import { describe, expect, it } from 'vitest';
import { lines, readText } from '../files.test.helper.js';

const row = (step: number, prompt: string, more: object = {}) => ({
  step,
  prompt,
  prompt_ids: [1, 2, 3],
  completion: 'a b',
  completion_ids: [7, 8, 9],
  completion_mask: [1, 1, 0],
  completion_logprobs: [-0.5, -0.25, -1],
  rewards: { right: 1, form: 0.5 },
  reward: 1.5,
  advantage: 0.7,
  ...more,
});

describe('JSON Lines of completions', () => {
  it('give a record a step, with what every row has', async () => {
    const text = lines([row(3, 'p'), row(3, 'p', { reward: 0.5 }), row(3, 'q'), row(4, 'p')]);
    const reading = await readText('rollouts.jsonl', text);
    expect(reading).toMatchObject({ kind: 'completions, JSON Lines', isGrpo: true, broken: { count: 0 } });
    const records = [...reading.records!];
    expect(records.map(({ step }) => step)).toEqual([3, 4]);
    const [first] = records;
    expect(first!.prompts).toMatchObject({ texts: ['p', 'q'] });
    expect([...first!.prompts!.ids!]).toEqual([1, 2, 3, 1, 2, 3]);
    expect([...first!.completions!.prompt!]).toEqual([0, 0, 1]);
    expect([...first!.completions!.ids!]).toEqual([7, 8, 9, 7, 8, 9, 7, 8, 9]);
    expect([...first!.completions!.lengths!]).toEqual([3, 3, 3]);
    expect([...first!.completions!.samplerLogprobs!.subarray(0, 3)]).toEqual([-0.5, -0.25, -1]);
    expect([...first!.scored!.mask!.subarray(0, 3)]).toEqual([1, 1, 0]);
    expect(first!.scored!.ids).toBeUndefined();
    expect([...first!.rewards!.totals!]).toEqual([1.5, 0.5, 1.5]);
    expect([...first!.rewards!.values!]).toEqual([1, 1, 1, 0.5, 0.5, 0.5]);
    expect([...first!.advantages!]).toEqual([0.7, 0.7, 0.7]);
  });

  it('of ours compare rewards without the KL that was taken from them', async () => {
    const ours = { step: 1, prompt: 0, prompt_text: 'p', completion: 'a', reward: 1 };
    const [record] = (
      await readText(
        'completions.jsonl',
        lines([
          { ...ours, rewards: { right: 1, kl_penalty: 0.25 } },
          { ...ours, rewards: { right: 1 } },
        ]),
      )
    ).records!;
    expect([...record!.rewards!.totals!]).toEqual([0.75, 1]);
  });

  it('leave out what one row lacks, or has in another length', async () => {
    const { advantage: _, ...without } = row(1, 'p');
    const reading = await readText('x.jsonl', lines([row(1, 'p'), { ...without, completion_mask: [1] }]));
    const [record] = reading.records!;
    expect(record!.advantages).toBeUndefined();
    expect(record!.scored).toBeUndefined();
    expect(record!.completions!.ids).toHaveLength(6);
  });

  it('of other names: verl, messages, ids of prompt and completion in one', async () => {
    const verl = await readText(
      '1.jsonl',
      lines([{ step: 1, input: 'q?', output: 'a', gts: '4', score: 0.5 }]),
    );
    const [one] = verl.records!;
    expect(one).toMatchObject({ prompts: { texts: ['q?'], answers: ['4'] }, completions: { texts: ['a'] } });
    expect([...one!.rewards!.totals!]).toEqual([0.5]);
    const chat = await readText(
      'chat.jsonl',
      lines([
        {
          prompt: [{ role: 'user', content: 'hi' }],
          completion: [{ role: 'assistant', content: 'ho' }],
          input_ids: [1, 2, 3, 4],
          mask: [0, 0, 1, 1],
          prompt_ids: [1, 2],
          rewards: [1],
          reward: 1,
          is_truncated: true,
        },
      ]),
    );
    const [two] = chat.records!;
    expect(two).toMatchObject({
      prompts: { messages: [[{ role: 'user', content: 'hi' }]] },
      completions: { texts: ['ho'], finish: ['length'] },
    });
    expect([...two!.completions!.ids!]).toEqual([3, 4]);
    expect([...two!.scored!.mask!]).toEqual([1, 1]);
  });

  it('without steps come in parts of whole groups', async () => {
    const { step: _, ...plain } = row(1, 'p');
    const rows = Array.from({ length: 5000 }, (_, i) => ({ ...plain, prompt: `p${Math.floor(i / 8)}` }));
    const reading = await readText('all.jsonl', lines(rows));
    const records = [...reading.records!];
    expect(records.map(({ step, completions }) => [step, completions!.lengths!.length])).toEqual([
      [1, 4096],
      [2, 904],
    ]);
    expect(reading.notes.join(' ')).toContain('have no step number');
  });

  it('count broken rows once, however often they are read', async () => {
    const reading = await readText(
      'x.jsonl',
      `${lines([row(1, 'p')])}{"completion": "x\n${lines([row(1, 'p')])}`,
    );
    for (let i = 0; i < 2; i++) expect([...reading.records!]).toHaveLength(1);
    expect(reading.broken).toMatchObject({ count: 1, first: [{ line: 2 }] });
  });
});

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { sharedFolder } from '../../formats/temp-folder.test.helper.js';
import { totals } from '../../rewards/reward-table.js';
import { scoreCompletions } from '../../rewards/score.js';
import { defineTask } from '../define.js';
import { type JsonlOptions, jsonlTask } from './task.js';

const dir = sharedFolder();
function file(name: string, content: string | Uint8Array): string {
  const path = join(dir, name);
  writeFileSync(path, content);
  return path;
}
const lines = (...rows: unknown[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
const load = (options: Partial<JsonlOptions>) =>
  jsonlTask({
    data: '',
    evalSize: 0,
    grading: 'numeric',
    questionKey: 'question',
    answerKey: 'answer',
    ...options,
  });

const TOM = {
  question: 'Tom has 3 boxes of 400 pens. How many pens?',
  answer: 'He has 3*400 = <<3*400=1200>>1200 pens.\nThat is all.\n#### 1,200',
};

describe('jsonlTask', () => {
  it('makes prompts and demonstrations that earn the full reward', async () => {
    const task = await load({ data: file('tom.jsonl', lines(TOM)) });
    const { prompt, row, demonstration } = task.train[0]!;
    expect(row).toEqual(TOM);
    expect(prompt).toMatch(/Problem: Tom has 3 boxes of 400 pens\. How many pens\?\n\nSolution: <think>$/);
    expect(demonstration).toBe('He has 3*400 = 1200 pens.\nThat is all.</think> <answer>1,200</answer>');
    const batch = {
      prompts: [prompt, prompt, prompt],
      completions: [
        demonstration!,
        'so</think><answer>$1200.00</answer>',
        '<think>so</think><answer>1200</answer>',
      ],
      rows: [row, row, row],
    };
    expect([...totals(await scoreCompletions(task.rewards, batch, { onError: 'stop' }))]).toEqual([
      1.1, 1.1, 0,
    ]);
    expect(batch.completions.map((c) => task.isCorrect!(c, row))).toEqual([true, true, false]);
    expect(task.stop).toEqual(['</answer>']);
  });

  it('makes conversations when there is a system message', async () => {
    const data = file('tom.jsonl', lines(TOM));
    const task = await load({ data, system: 'Be brief.' });
    expect(task.train[0]!.prompt).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: expect.stringMatching(/Problem: Tom .* How many pens\?$/s) },
    ]);
    expect(task.train[0]!.demonstration).toMatch(/^<think>He has/);
    expect(task.isCorrect!('<think>so</think> <answer>1200</answer>', TOM)).toBe(true);
    expect((await load({ data, system: '' })).train[0]!.prompt).toHaveLength(1);
  });

  it("uses the user's prompt byte for byte", async () => {
    const data = file('dollar.jsonl', lines({ ...TOM, question: "$& {question} $1 $' é" }));
    const prompt = file('mine.prompt', '\uFEFFQ:\t{question}\r\n{question}\n A: <think> ');
    const task = await load({ data, prompt });
    const question = "$& {question} $1 $' é";
    expect(task.train[0]!.prompt).toBe(`\uFEFFQ:\t${question}\r\n${question}\n A: <think> `);
    expect(task.isCorrect!('x</think> <answer>1200</answer>', TOM)).toBe(true);
    const closed = await load({ data, prompt: file('closed.prompt', '{question}') });
    expect(closed.train[0]!.prompt).toBe(question);
    expect(closed.isCorrect!('<think>x</think> <answer>1200</answer>', TOM)).toBe(true);
  });

  it('refuses a prompt without a place for the question, in another encoding, or missing', async () => {
    const data = file('tom.jsonl', lines(TOM));
    const plain = file('plain.prompt', 'Q: {quesiton}');
    await expect(load({ data, prompt: plain })).rejects.toThrow(`prompt file ${plain} has no {question}`);
    const latin = file('latin.prompt', Uint8Array.from([0x7b, 0xe9, 0x7d]));
    await expect(load({ data, prompt: latin })).rejects.toThrow('not valid UTF-8');
    await expect(load({ data, prompt: join(dir, 'none') })).rejects.toThrow('there is no such file');
  });

  it('takes plain answers and numbers, which have no demonstration, and other keys', async () => {
    const data = file('plain.jsonl', lines({ q: '1+1?', a: 2 }, { q: '1+2?', a: ' 3 ', extra: [1] }));
    const task = await load({ data, questionKey: 'q', answerKey: 'a' });
    expect(task.train.map((p) => p.demonstration)).toEqual([undefined, undefined]);
    expect(task.train.map((p) => task.isCorrect!('</think><answer>3</answer>', p.row))).toEqual([
      false,
      true,
    ]);
    expect(task.train[1]!.row.extra).toEqual([1]);
  });

  it.each([
    [
      '{"question": "a", "answer": "1"}\n{"prompt": "x", "answer": "1"}\n',
      2,
      'no key "question"; the row has prompt, answer; set task.questionKey',
    ],
    [
      '{"question": "a", "solution": "1"}\n',
      1,
      'no key "answer"; the row has question, solution; set task.answerKey to the key that holds it, or task.grading=none with rewards of your own',
    ],
    ['\n{"question": "a", "answer": ["1"]}\n', 2, 'answer must be text or a number, found ["1"]'],
    ['{"question": " ", "answer": "1"}\n', 1, 'question is empty'],
    ['{"question": "a", "answer": "one"}\n', 1, 'answer must be a number, found "one"; task.grading=math'],
    [
      '{"question": "a", "answer": "2\\n#### 2 apples"}\n',
      1,
      'what follows #### in answer must be a number, found "2 apples"',
    ],
    ['{"question": "a", "answer": "1"}\n{"question": \n', 2, 'not valid JSON'],
    ['[1]\n', 1, 'must be a JSON object'],
  ])('refuses %j and names line %i', async (content, line, message) => {
    const data = file('bad.jsonl', content);
    const error = await load({ data }).then(
      () => undefined,
      (reason: Error) => reason,
    );
    expect(error?.message).toContain(`${data}:${line}: `);
    expect(error?.message).toContain(message);
  });

  it('takes the answer from a box, or from the solution of a row without one, as MATH has it', async () => {
    const solution = 'Twice three, so $\\boxed{1}$, no: the answer is $\\boxed{6}$.';
    const data = file(
      'math.jsonl',
      lines(
        { problem: 'a', solution, level: 'Level 1', type: 'Algebra' },
        { problem: 'b', solution: 'By hand.', answer: '6' },
        { problem: 'c', solution: 'It is 6.', answer: 'So $\\boxed{6}$.' },
        { problem: 'd', solution, answer: null },
      ),
    );
    const task = await load({ data, questionKey: 'problem' });
    expect(task.train.map(({ demonstration }) => demonstration)).toEqual([
      `${solution}</think> <answer>6</answer>`,
      'By hand.</think> <answer>6</answer>',
      'So $\\boxed{6}$.</think> <answer>6</answer>',
      `${solution}</think> <answer>6</answer>`,
    ]);
    for (const { row } of task.train) expect(task.isCorrect!('</think> <answer>6</answer>', row)).toBe(true);
    expect(task.isCorrect!('</think> <answer>1</answer>', task.train[0]!.row)).toBe(false);
    const open = file('open-box.jsonl', lines({ question: 'a', answer: 'So $\\boxed{6$.' }));
    await expect(load({ data: open })).rejects.toThrow(
      ':1: answer is empty, or what stands after its last #### or in its last box',
    );
  });

  it('reads Parquet and a JSON array, with the row in errors', async () => {
    const parquet = fileURLToPath(
      new URL('../../../../../parity/fixtures/parquet/sums.parquet', import.meta.url),
    );
    const task = await load({ data: parquet });
    expect(task.train).toHaveLength(40);
    expect(task.train[1]!.demonstration).toBe(
      '10 books and 16 books are 10+16 = 26 books.</think> <answer>26</answer>',
    );
    await expect(load({ data: parquet, answerKey: 'gold' })).rejects.toThrow(
      `${parquet}:1: no key "gold"; the row has question, answer`,
    );
    const array = file('array.json', JSON.stringify([TOM, { question: 'a', answer: 'one' }], null, 1));
    await expect(load({ data: array })).rejects.toThrow(`${array}:6: answer must be a number, found "one"`);
    expect((await load({ data: file('one.json', JSON.stringify([TOM])) })).train).toHaveLength(1);
  });

  it('asks the question alone and rewards nothing without grading', async () => {
    const rows = [
      { question: 'Why?', rubric: ['brief'] },
      { question: 'How?', answer: 'So.\n#### x' },
    ];
    const data = file('open.jsonl', lines(...rows, { question: '1+1', answer: 2 }));
    const task = await load({ data, grading: 'none' });
    expect(task).toEqual({
      name: 'jsonl',
      train: [
        { prompt: 'Why?', row: rows[0] },
        { prompt: 'How?', row: rows[1], demonstration: 'So.\n#### x' },
        { prompt: '1+1', row: { question: '1+1', answer: 2 } },
      ],
      eval: [],
      rewards: [],
      stop: [],
    });
    const system = await load({ data, grading: 'none', system: '' });
    expect(system.train[0]!.prompt).toEqual([{ role: 'user', content: 'Why?' }]);
    const prompt = file('open.prompt', 'Q: {question}\nA:');
    expect((await load({ data, grading: 'none', prompt })).train[0]!.prompt).toBe('Q: Why?\nA:');
  });

  it('still needs the question without grading', async () => {
    const data = file('nothing.jsonl', lines({ question: 'a' }, { prompt: 'b' }));
    await expect(load({ data, grading: 'none' })).rejects.toThrow(
      `${data}:2: no key "question"; the row has prompt; set task.questionKey to the key that holds it`,
    );
  });

  it('refuses an empty and a missing file', async () => {
    await expect(load({ data: file('empty.jsonl', '\n\n') })).rejects.toThrow('no rows');
    await expect(load({ data: join(dir, 'none.jsonl') })).rejects.toThrow('there is no such file');
  });

  it('holds out rows at random, the same ones every time, with all copies of their questions', async () => {
    const rows = Array.from({ length: 100 }, (_, i) => ({ question: `q${i % 90}`, answer: i % 90 }));
    const data = file('many.jsonl', lines(...rows));
    const task = await load({ data, evalSize: 20 });
    const questions = (problems: typeof task.train) => problems.map((p) => String(p.row.question));
    expect(task.eval).toHaveLength(20);
    expect(questions(task.eval)).not.toEqual(rows.slice(80).map((row) => row.question));
    const held = new Set(questions(task.eval));
    expect(questions(task.train).some((q) => held.has(q))).toBe(false);
    expect(task.train).toHaveLength(rows.filter((row) => !held.has(row.question)).length);
    expect(questions((await load({ data, evalSize: 20 })).eval)).toEqual(questions(task.eval));
    await expect(load({ data, evalSize: 100 })).rejects.toMatchObject({
      message: `${data}: holding out 100 of 100 rows leaves none to train on: they ask 90 questions in all, and copies of what is held out are not trained on`,
      hint: expect.stringMatching(/^task\.evalSize=20 holds out a fifth/),
    });
    const single = file('single.jsonl', lines({ question: 'a', answer: 1 }));
    await expect(load({ data: single, evalSize: 1 })).rejects.toMatchObject({
      hint: expect.stringMatching(/^Give more rows/),
    });
  });

  it.each([
    [2, 1],
    [11, 3],
    [999, 200],
    [1200, 200],
  ])('holds out, of %i rows, %i when nobody says how many', async (count, size) => {
    const rows = Array.from({ length: count }, (_, i) => ({ question: `q${i}`, answer: i }));
    const { train, eval: held } = await load({
      data: file('rows.jsonl', lines(...rows)),
      evalSize: undefined,
    });
    expect([train.length, held.length]).toEqual([count - size, size]);
    const task = defineTask({ name: 'same', rows, prompt: (row) => row.question, rewards: { one: () => 1 } });
    expect(held.map(({ row }) => row)).toEqual(task.eval.map(({ row }) => row));
  });

  it.each([
    ['one row', 1, 'holding out 1 of 1 row leaves none to train on'],
    [
      'copies of one question',
      6,
      'holding out 2 of 6 rows leaves none to train on: they ask 1 question in all, and copies of what is held out are not trained on',
    ],
  ])('needs more than %s', async (_, count, what) => {
    const rows = Array.from({ length: count }, () => ({ question: 'a', answer: 1 }));
    const data = file('few.jsonl', lines(...rows));
    await expect(load({ data, evalSize: undefined })).rejects.toMatchObject({
      message: `${data}: ${what}`,
      hint: expect.stringMatching(/^Give more rows/),
    });
  });

  it('takes all of evalData in order, and refuses questions that are trained on', async () => {
    const data = file('train.jsonl', lines({ question: 'a', answer: 1 }, { question: 'b', answer: 2 }));
    const evalData = file('eval.jsonl', lines({ question: 'd', answer: 4 }, { question: 'c', answer: 3 }));
    const task = await load({ data, evalData, evalSize: 1 });
    expect(task.train).toHaveLength(2);
    expect(task.eval.map((p) => p.row.question)).toEqual(['d', 'c']);
    const overlap = file('overlap.jsonl', lines({ question: 'c', answer: 3 }, { question: 'b', answer: 2 }));
    await expect(load({ data, evalData: overlap })).rejects.toThrow(
      `${overlap}: 1 questions are also in ${data}, such as "b"`,
    );
  });
});

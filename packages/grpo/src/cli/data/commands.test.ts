import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { call } from '../grpo.test.helper.js';

const fixture = (path: string) =>
  fileURLToPath(new URL(`../../../../../parity/fixtures/${path}`, import.meta.url));

let dir = '';
beforeEach(() => {
  dir = tempFolder();
});

const data = (...argv: string[]) => call(dir, 'data', ...argv);
const text = (name: string) => readFileSync(join(dir, name), 'utf8');
const rowsOf = (name: string): unknown[] =>
  text(name)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
function write(name: string, ...rows: unknown[]): void {
  writeFileSync(join(dir, name), rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
}

const MATH = [
  { problem: 'Half of 1?', level: 'Level 1', solution: 'It is $\\boxed{\\frac{1}{2}}$.' },
  { problem: 'Twice 2?', level: 'Level 2', solution: 'Two twos: \\boxed{4}' },
];

describe('grpo data', () => {
  it('without a word says what there is', async () => {
    const none = await data();
    expect(none).toMatchObject({ code: 2, out: '' });
    expect(none.err).toContain('grpo data needs to know what to do: data check, data convert,');
    expect((await data('--help')).out).toMatch(/^ {2}data convert +Write JSON Lines/m);
    expect((await data('chekc')).err).toContain(
      "Unknown command 'data chekc'. The nearest known command is data check.",
    );
    expect((await call(dir, 'help', 'data', 'check')).out).toContain('Usage: grpo data check TRAIN [EVAL]');
  });
});

describe('grpo data convert', () => {
  it('renames keys, keeps the others, and takes the final answer', async () => {
    write('math.jsonl', ...MATH);
    const run = await data(
      'convert',
      'math.jsonl',
      'out.jsonl',
      'question=problem',
      'answer=solution',
      '--final-answer',
    );
    expect(run, run.err).toMatchObject({
      code: 0,
      err: '',
      out: 'out.jsonl: 2 rows.\nUse it as: task.data=out.jsonl\n',
    });
    expect(rowsOf('out.jsonl')).toEqual([
      { question: 'Half of 1?', level: 'Level 1', answer: '\\frac{1}{2}', solution: MATH[0]!.solution },
      { question: 'Twice 2?', level: 'Level 2', answer: '4', solution: MATH[1]!.solution },
    ]);
    expect(
      (await data('convert', fixture('parquet/sums.parquet'), 'sums.jsonl', 'q=question', '--final-answer'))
        .code,
    ).toBe(0);
    expect(rowsOf('sums.jsonl')[1]).toEqual({
      q: 'A shelf holds 10 books and 16 more are put on it. How many books is that?',
      answer: '26',
      solution: '10 books and 16 books are 10+16 = <<10+16=26>>26 books.\n#### 26',
    });
  });

  it('in place keeps a backup, which is never overwritten, and restore moves it back', async () => {
    writeFileSync(join(dir, 'math.json'), JSON.stringify(MATH, null, 2));
    const before = text('math.json');
    expect((await data('convert', 'math.json', '--in-place', 'question=problem')).out).toBe(
      'math.json: 2 rows. What was there is math.json.backup.\n',
    );
    expect(rowsOf('math.json')).toMatchObject([{ question: 'Half of 1?' }, { question: 'Twice 2?' }]);
    expect(text('math.json.backup')).toBe(before);
    const after = text('math.json');
    const again = await data('convert', 'math.json', '--in-place', 'problem=question');
    expect(again).toMatchObject({ code: 1, out: '' });
    expect(again.err).toContain('math.json.backup is there already and is not overwritten');
    expect([text('math.json'), text('math.json.backup')]).toEqual([after, before]);
    expect((await data('restore', 'math.json')).code).toBe(0);
    expect(text('math.json')).toBe(before);
    expect(readdirSync(dir)).toEqual(['math.json']);
    const nothing = await data('restore', 'math.json');
    expect(nothing).toMatchObject({
      code: 1,
      err: 'grpo: there is no math.json.backup: nothing to restore\n',
    });
  });

  it.each([
    [['question=prompt'], 'math.jsonl:1: no key "prompt"; the row has problem, level, solution'],
    [['level=problem'], 'math.jsonl:1: the row has a key "level" already; rename that one too'],
    [['--final-answer'], 'math.jsonl:1: --final-answer takes it from the text "answer"; the row has problem'],
    [['a=problem', 'a=level'], 'The key a is named twice'],
    [['problem'], "Expected NEW=OLD, found 'problem'"],
  ])('with %j is refused, and nothing is written', async (words, message) => {
    write('math.jsonl', ...MATH);
    for (const place of [['--in-place'], ['out.jsonl']]) {
      const run = await data('convert', 'math.jsonl', ...place, ...words);
      expect(run.code).toBeGreaterThan(0);
      expect(run.err).toContain(message);
      expect(readdirSync(dir)).toEqual(['math.jsonl']);
      expect(rowsOf('math.jsonl')).toEqual(MATH);
    }
  });

  it('leaves all as it was when a later row is wrong', async () => {
    write('a.jsonl', { answer: 'x #### 1' }, { answer: 'none' });
    const run = await data('convert', 'a.jsonl', '--in-place', '--final-answer');
    expect(run.err).toContain(
      'a.jsonl:2: answer has neither #### nor a closed \\boxed{…} with something in it',
    );
    write('b.jsonl', { answer: '#### 1', solution: 's' });
    expect((await data('convert', 'b.jsonl', '--in-place', '--final-answer')).err).toContain(
      'the row has a key "solution" already, where the whole text would go',
    );
    expect(readdirSync(dir)).toEqual(['a.jsonl', 'b.jsonl']);
  });

  it('overwrites no other file, and no Parquet', async () => {
    write('math.jsonl', ...MATH);
    write('out.jsonl', {});
    expect((await data('convert', 'math.jsonl', 'out.jsonl')).err).toContain('out.jsonl is there already');
    expect((await data('convert', 'math.jsonl', 'math.jsonl')).err).toContain('or convert with --in-place');
    expect((await data('convert', fixture('parquet/sums.parquet'), '--in-place')).err).toContain(
      'sums.parquet is Parquet, and what is written is JSON Lines',
    );
    expect(rowsOf('out.jsonl')).toEqual([{}]);
    expect(existsSync(fixture('parquet/sums.parquet.backup'))).toBe(false);
  });
});

describe('grpo data countdown', () => {
  it('writes problems that the task takes, the same ones for a seed, none twice', async () => {
    expect((await data('countdown', 'c.jsonl', '--rows', '300', '--seed', '4')).out).toBe(
      'c.jsonl: 300 rows.\nUse it as: task.name=countdown task.data=c.jsonl\n',
    );
    expect((await data('countdown', 'd.jsonl', '--rows', '300', '--seed', '4')).code).toBe(0);
    expect(text('d.jsonl')).toBe(text('c.jsonl'));
    expect(new Set(text('c.jsonl').trim().split('\n')).size).toBe(300);
    const checked = await data('check', 'c.jsonl', 'task.name=countdown');
    expect(checked, checked.err).toMatchObject({ code: 0 });
    expect((await data('countdown', 'c.jsonl')).err).toContain('c.jsonl is there already');
    expect((await data('countdown', 'e.jsonl', '--rows', '-1')).code).toBe(2);
  });
});

const SHARED = 'A farmer walks along the river with nine brown cows and two goats before the sun goes down';

describe('grpo data check', () => {
  it('finds nothing in clean files', async () => {
    write('train.jsonl', { question: 'What is 1 + 1?', answer: '2' }, { question: 'And 2?', answer: 3 });
    write('eval.jsonl', { question: 'And 5?', answer: 'x #### 6' });
    const run = await data('check', 'train.jsonl', 'eval.jsonl');
    expect(run, run.err).toMatchObject({ code: 0, err: '' });
    expect(run.out).toMatch(/^rows +2 +1$/m);
    expect(run.out).toMatch(/\nNothing found\.\n$/);
  });

  it('names duplicates, leakage, missing keys, wrong types and answers that cannot be graded', async () => {
    write(
      'train.jsonl',
      { question: 'What is  1 + 1?', answer: '2' },
      { question: ' What is 1 +\n1? ', answer: '2' },
      { question: 'a', answer: 'one' },
      { question: 'b' },
      { question: '', answer: '1' },
      { question: 'c', answer: ['1'] },
      { question: 'd', answer: '####' },
      { question: `${SHARED}. How many animals are there?`, answer: '11' },
    );
    write(
      'eval.jsonl',
      { question: 'What is 1 + 1?', answer: '2' },
      { question: `Look: ${SHARED.toUpperCase().replace(' with', ', with')}! How many legs?`, answer: '44' },
      { question: `${SHARED.slice(0, 50)} or less`, answer: '1' },
    );
    const run = await data('check', 'train.jsonl', 'eval.jsonl', '--json');
    expect(run, run.err).toMatchObject({ code: 1, err: '' });
    const report = JSON.parse(run.out);
    expect(report).toMatchObject({ clean: false, unit: 'characters', window: null, notes: [] });
    const [train, held] = report.files;
    expect(train.rows).toBe(8);
    const found = ({ findings }: { findings: { kind: string; rows: number; first: { line: number }[] }[] }) =>
      Object.fromEntries(findings.map(({ kind, first }) => [kind, first.map(({ line }) => line)]));
    expect(found(train)).toEqual({
      duplicate: [2],
      'cannot be graded': [3],
      'no answer': [4, 7],
      'no question': [5],
      'not text': [6],
    });
    expect(found(held)).toEqual({ leaked: [1], overlap: [2] });
    const page = (await data('check', 'train.jsonl', 'eval.jsonl')).out;
    expect(page).toMatch(/^ {2}asked before in the file +1 +0$/m);
    expect(page).toContain('  2: as in line 1: "What is 1 +\\n1?"');
    expect(page).toContain('  2: 13 words in a row are also in train.jsonl:8: "Look: A FARMER');
    expect(Math.max(...page.split('\n').map((line) => line.length))).toBeLessThanOrEqual(100);
  });

  it('takes words that many questions share for a form of words', async () => {
    const form = (i: number) => ({ question: `${SHARED}. How many is ${i} more?`, answer: i });
    write('train.jsonl', form(0));
    write('eval.jsonl', ...Array.from({ length: 10 }, (_, i) => form(i + 1)));
    expect((await data('check', 'train.jsonl', 'eval.jsonl')).out).toMatch(/13 words of it .* 10$/m);
    write('eval.jsonl', ...Array.from({ length: 11 }, (_, i) => form(i + 1)));
    expect((await data('check', 'train.jsonl', 'eval.jsonl')).code).toBe(0);
  });

  it("measures prompts in the model's tokens, against its positions", async () => {
    const model = `model=${fixture('models/qwen2')}`;
    write('train.jsonl', { question: 'a'.repeat(100), answer: 1 }, { question: 'b', answer: 2 });
    writeFileSync(join(dir, 'bare.prompt'), '\uFEFF{question}\r\n');
    const settings = [model, 'task.prompt=bare.prompt'];
    const fits = await data('check', 'train.jsonl', ...settings, 'rollout.maxNewTokens=8', '--json');
    const { files, window, notes } = JSON.parse(fits.out);
    expect(window).toEqual({ positions: 128, completion: 8 });
    // Three bytes of a byte order mark and two of CRLF, each a token.
    expect(files[0].lengths).toMatchObject({ median: 55.5, longest: 105, line: 1 });
    expect(files[0].findings).toEqual([]);
    expect(notes).toEqual([
      'bare.prompt begins with a byte order mark, which every prompt has too; save it as UTF-8 without one.',
      'bare.prompt has lines that end in CRLF, which every prompt has too; save it with LF.',
    ]);
    writeFileSync(join(dir, 'bare.prompt'), '{question}');
    expect((await data('check', 'train.jsonl', ...settings, 'rollout.maxNewTokens=28')).code).toBe(0);
    const tooLong = await data('check', 'train.jsonl', ...settings, 'rollout.maxNewTokens=29');
    expect(tooLong.code).toBe(1);
    expect(tooLong.out).toContain("1: 100 tokens and 29 of a completion are more than the model's 128");
    expect(tooLong.out).toMatch(/^ {2}and a completion, of +129\/128$/m);
  });

  it('reads its settings from a file, and Parquet', async () => {
    writeFileSync(
      join(dir, 'run.yaml'),
      `task: {data: ${fixture('parquet/sums.parquet')}}\ntrain: {steps: 3}\n`,
    );
    const run = await data('check', '--config', 'run.yaml');
    expect(run, run.err).toMatchObject({ code: 0 });
    expect(run.out).toMatch(/^rows +40$/m);
  });

  it('ends with 2 when a file cannot be read', async () => {
    writeFileSync(join(dir, 'broken.jsonl'), '{"question": "a", "answer": 1}\n{"question"\n');
    for (const [name, message] of [
      ['broken.jsonl', 'broken.jsonl:2: not valid JSON'],
      ['none.jsonl', 'there is no such file'],
    ] as const) {
      const run = await data('check', name);
      expect(run).toMatchObject({ code: 2, out: '' });
      expect(run.err).toContain(message);
    }
    expect((await data('check')).err).toContain('no task');
  });
});

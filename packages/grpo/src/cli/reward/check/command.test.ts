import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { tempFolder } from '../../../formats/temp-folder.test.helper.js';
import { judgeServer, score } from '../../../rewards/judge/server.test.helper.js';
import { call } from '../../grpo.test.helper.js';

let dir = '';
beforeEach(() => {
  dir = tempFolder();
  const rows = Array.from({ length: 20 }, (_, n) =>
    JSON.stringify({ question: `What is ${n} + 30?`, answer: `${n} + 30\n#### ${n + 30}` }),
  );
  write('data.jsonl', rows.join('\n'));
});

const write = (name: string, text: string) => writeFileSync(join(dir, name), text);

const check = (...argv: string[]) => call(dir, 'reward', 'check', ...argv);

const DATA = ['task.data=data.jsonl', 'task.evalSize=4'];
const each = (formula: string) =>
  `import { each } from 'grpo/rewards';\nexport default each((text, row) => (${formula}));\n`;

describe('grpo reward check', () => {
  it('finds nothing in a task of ours', async () => {
    const { code, out, err } = await check('arithmetic');
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^88 completions of 8 rows of arithmetic, .* total = answer × 1 \+ format × 0\.1$/m);
    expect(out).toMatch(/^gold +1\.000 +1\.000 +1\.100 +8 of 8$/m);
    expect(out).toMatch(/^gold of another row +0\.000 +1\.000 +0\.100 +0 of 8$/m);
    expect(out).toMatch(/Right answers are graded as right, and nothing else is paid as they are\.$/m);
  });

  it('names the reward and the rule that let a blank through, in a worker thread', async () => {
    write('pay.mjs', each("{ value: 3 * Number(row.answer.includes(text.trim())), rule: 'contained' }"));
    const { code, out } = await check(...DATA, 'rewards=[{module: pay.mjs, timeoutSeconds: 20}]');
    expect(code).toBe(1);
    expect(out).toMatch(
      /^empty: 8 of 8 rows are wrong\. "": it earns 3, the right answer 1\.1 \(pay: contained\)\.$/m,
    );
    expect(out).not.toMatch(/^gold of another row: /m);
  });

  it('names a reward that pays blanks though others outweigh it', async () => {
    write('pay.mjs', each("{ value: Number(row.answer.includes(text.trim())) / 2, rule: 'contained' }"));
    const { code, out } = await check(...DATA, 'rewards=[{module: pay.mjs}]');
    expect(code).toBe(1);
    expect(out).toMatch(
      /^empty: 8 of 8 rows are wrong\. "": it earns 0\.5 there, no less than the right answer \(pay: contained\)\.$/m,
    );
  });

  it('says which reward fails on what', async () => {
    write('pay.mjs', each('text.match(/answer/).length'));
    const { code, out } = await check(...DATA, 'rewards=[{module: pay.mjs}]');
    expect(code).toBe(1);
    expect(out).toMatch(/reward pay, completion 1: threw TypeError: /);
  });

  it('says when all earn the same', async () => {
    write('one.mjs', each('0.5'));
    const { code, out } = await check(...DATA, 'task.grading=none', 'rewards=[{module: one.mjs}]');
    expect(code).toBe(1);
    expect(out).toContain('All of them earn exactly 0.5, right answers and blanks alike');
  });

  it('takes a file with settings of training, and as many rows as asked', async () => {
    write('run.yaml', 'task: { name: arithmetic }\ntrain: { steps: 3 }\nkl: { beta: 0.1 }\n');
    const { code, out } = await check('run.yaml', '--rows', '3', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      clean: true,
      task: 'arithmetic',
      rows: 3,
      tells: true,
      failures: [],
    });
    expect(JSON.parse(out).canaries).toHaveLength(33);
  });

  it('asks a judge, and counts its requests', async () => {
    const { baseURL, asked } = await judgeServer((response, { message }) =>
      score(response, /^<(?=.*\d)/.test(message) ? 1 : 0),
    );
    write('judge.txt', '<{completion}>');
    const judge = { baseURL, model: 'm', prompt: 'judge.txt', requestsPerSecond: 1e4 };
    const { err, out } = await check(
      ...DATA,
      '--rows',
      '2',
      `rewards=[{judge: ${JSON.stringify(judge)}, name: kind}]`,
    );
    expect(err).toMatch(/^The judge kind is asked about 22 completions of 2 rows; /);
    expect(out).toMatch(new RegExp(`^The judge kind took ${asked.length} requests\\.$`, 'm'));
  });

  it('counts tokens with the tokenizer of a model, and says when there is none', async () => {
    const rewards = 'rewards=[{builtin: overlong, maxTokens: 40, buffer: 20}]';
    const without = await check('arithmetic', rewards);
    expect(without).toMatchObject({ code: 2, out: '' });
    expect(without.err).toContain('the reward overlong counts tokens, and there is no model to make them');
    const model = fileURLToPath(new URL('../../../../../../parity/fixtures/models/llama3', import.meta.url));
    const { code, out } = await check('arithmetic', rewards, `model=${model}`);
    expect(code).toBe(0);
    expect(out).toMatch(/^gold repeated +0\.000 +0\.000 +-1\.000 +-1\.000 /m);
  });

  it.each<[string[], RegExp]>([
    [['task.data=none.jsonl'], /none\.jsonl/],
    [['arithmetic', 'bbq'], /takes one task/],
    [['arithmetic', '--rows', '0'], /--rows must be a whole number >= 1, found '0'/],
    [['arithmatic'], /task\.name/],
    [
      ['task.data=open.jsonl', 'task.grading=none', 'task.evalSize=1', 'rewards=[{builtin: think-format}]'],
      /the task jsonl has no row with a right answer, so nothing can be told/,
    ],
  ])('%j is exit code 2', async (argv, words) => {
    write('open.jsonl', '{"question": "a"}\n{"question": "b"}\n{"question": "c"}\n');
    const { code, out, err } = await check(...argv);
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(words);
  });
});

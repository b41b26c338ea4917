import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { sharedFolder } from '../../formats/temp-folder.test.helper.js';
import { DATED, inspectedFolders, OPEN, TURNS } from '../../inspection/inspection.test.helper.js';
import { call } from '../grpo.test.helper.js';

const { folder } = inspectedFolders();
const dir = sharedFolder();

const inspect = (...argv: string[]) => call(dir, 'inspect', ...argv);

it('shows a table of prompts, findings and settings within 100 columns', async () => {
  const { code, out } = await inspect(folder('llama3', DATED));
  expect(code).toBe(0);
  expect(out).toMatch(/^ no system +\d+ +1 +yes +EMPTY +TODAY +yes +yes {3}\d+ \d+ … \d+ \d+$/m);
  expect(out).toMatch(/^WARN {2}The template writes the day of the run into 4 of 4 prompts/m);
  expect(out).toMatch(/^\d+ checks: \d+ passed, \d+ noted, 2 warned\.$/m);
  for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(100);
});

it('fails where another program asks otherwise, and leaves a log of each check', async () => {
  const model = folder('llama3', `{{ bos_token }}${TURNS}${OPEN}`);
  const text = '<|begin_of_text|><|turn|>user<|says|>\nHi.<|/turn|><|turn|>assistant<|says|>\n';
  writeFileSync(join(dir, 'prompt.txt'), text);
  const { code, out } = await inspect(model, '--path', 'prompt.txt', '--save', 'logs');
  expect(code).toBe(1);
  expect(out).toMatch(/^FAIL {2}prompt\.txt differs .* first at id 1: /m);
  expect(out).toContain('Double BOS');
  const logs = readdirSync(join(dir, 'logs'));
  const { checks } = JSON.parse((await inspect(model, '--path', 'prompt.txt', '--json')).out);
  expect(logs).toHaveLength(checks.length + 1);
  // The checks after the one that failed have theirs, too.
  const summary = readFileSync(join(dir, 'logs', 'summary.log'), 'utf8')
    .trim()
    .split('\n');
  expect(summary.map((line) => line.split(' ')[0])).toEqual(
    checks.map(({ verdict }: { verdict: string }) => verdict.split(' ')[0]),
  );
  const log = readFileSync(join(dir, 'logs', logs.find((name) => name.includes('path'))!), 'utf8');
  expect(log).toContain('there    (');
});

it('takes the rows of a run, and measures with the weights', async () => {
  const model = fileURLToPath(new URL('../../../../../parity/fixtures/models/qwen2', import.meta.url));
  const rows = ['1+1', '1+2', '1000+2000'].map((question) => JSON.stringify({ question, answer: 2 }));
  writeFileSync(join(dir, 'prompt.txt'), '{question}=');
  writeFileSync(join(dir, 'rows.jsonl'), rows.join('\n'));
  const settings = { task: { data: 'rows.jsonl', prompt: 'prompt.txt', system: 'Add.', evalSize: 1 } };
  writeFileSync(join(dir, 'run.yaml'), JSON.stringify({ ...settings, rollout: { maxNewTokens: 20 } }));
  const { code, out, err } = await inspect(model, '--config', 'run.yaml', '--generate');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toMatch(/^ training row 1 +\d+ +0 +yes +yes +no +yes +yes/m);
  expect(out).toMatch(/^Memory +about /m);
  expect(out).toMatch(/^ +padding attended to: [\d.e-]+ nats per token$/m);
  expect(out).toMatch(/^ training row 1 +0\.7 +100 +\d of 4 /m);
  expect(out).toMatch(/^ max_new_tokens +20 +20 /m);
});

it('goes on where there are no weights, and says so', async () => {
  const model = folder('llama3', `{{ bos_token }}${TURNS}${OPEN}`);
  const { code, out } = await inspect(model, '--generate', '--save', 'weightless');
  expect(code).toBe(1);
  expect(out).toMatch(/^FAIL .*safetensors/m);
  expect(out).toMatch(/^\d+ checks: \d+ passed, .*1 failed\./m);
  expect(readdirSync(join(dir, 'weightless')).filter((name) => name.includes('weights'))).toHaveLength(1);
});

it.each([
  [[], 'grpo inspect takes one model'],
  [['nowhere'], 'nowhere'],
  [['m', '--config', 'a.yaml', '--prompt', 'Hi'], 'give one'],
])('says what is wrong with %j', async (argv, message) => {
  const { code, err } = await inspect(...argv);
  expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining(message) });
});

import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { Studio } from './studio.js';

function write(file: string, text: string, secondsAgo = 0): string {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  const at = Date.now() / 1000 - secondsAgo;
  utimesSync(file, at, at);
  return file;
}

const rows = (...all: object[]) => all.map((row) => `${JSON.stringify(row)}\n`).join('');
const steps = (count: number, reward = (step: number) => step / 10) =>
  rows(...Array.from({ length: count }, (_, i) => ({ step: i + 1, reward: reward(i + 1), loss: 0.1 })));

/** A run of 5 steps of which some are done. */
function ownRun(folder: string, done: number, lock: 'locked' | 'free', secondsAgo = 0): string {
  write(join(folder, 'config.json'), JSON.stringify({ values: { 'train.steps': { value: 5 } } }));
  write(join(folder, 'metrics.jsonl'), steps(done), secondsAgo);
  write(
    join(folder, 'checkpoints', 'step-5', 'trainer_state.json'),
    '{"log_history": [{"step": 1, "loss": 1}]}',
  );
  if (lock === 'locked') write(join(folder, 'run.lock'), '{}', secondsAgo);
  return folder;
}

const list = (...roots: string[]) => new Studio(roots).answer('runs', {});

it('tells the state of a run of ours from its lock and what it wrote', async () => {
  const root = tempFolder();
  ownRun(join(root, 'begun'), 0, 'locked');
  ownRun(join(root, 'finished'), 5, 'free');
  ownRun(join(root, 'killed'), 3, 'locked', 3600);
  const slow = ownRun(join(root, 'slow'), 3, 'locked', 3600);
  write(join(slow, 'timings.jsonl'), rows({ step: 3, step_time: 900 }), 3600);
  ownRun(join(root, 'stopped'), 3, 'free');
  ownRun(join(root, 'writing'), 3, 'locked');
  const states = (await list(root)).map(({ name, state, step, steps: all }) => [name, state, step, all]);
  expect(states).toEqual([
    ['begun', 'running', undefined, 5],
    ['finished', 'finished', 5, 5],
    ['killed', 'stopped', 3, 5],
    ['slow', 'running', 3, 5],
    ['stopped', 'stopped', 3, 5],
    ['writing', 'running', 3, 5],
  ]);
});

it.each([
  ['train', 'train.steps'],
  ['sft', 'sft.steps'],
  ['expert', 'expert.iterations'],
])('knows how many steps a run of %s was to have', async (command, key) => {
  const folder = ownRun(join(tempFolder(), 'run'), 3, 'free');
  const values = {
    'train.steps': { value: 5 },
    'sft.steps': { value: 5 },
    'expert.iterations': { value: 5 },
  };
  write(join(folder, 'config.json'), JSON.stringify({ command, values: { ...values, [key]: { value: 3 } } }));
  const [run] = await list(folder);
  expect(run).toMatchObject({ state: 'finished', step: 3, steps: 3 });
});

it('shows whole rows of a run that was cut off in one, NaN among them', async () => {
  const folder = ownRun(join(tempFolder(), 'run'), 0, 'free');
  write(
    join(folder, 'metrics.jsonl'),
    `${rows({ step: 1, reward: 0.5 }, { step: 2, reward: 'NaN' }, { step: 3, reward: 0.25 })}{"step":4,"rew`,
  );
  const finding = { step: 1, code: 'B30.flat', severity: 'warn' };
  write(
    join(folder, 'findings.jsonl'),
    `${rows(finding, { ...finding, step: 2 }, { ...finding, code: 'B43.sum', severity: 'fail' })}{"step":3,"co`,
  );
  const [entry] = await list(folder);
  expect(entry).toMatchObject({ step: 3, reward: 0.25, findings: { fail: 1, warn: 1 } });
  expect([...entry!.rewards!]).toEqual([0.5, Number.NaN, 0.25]);
});

it('thins the rewards and keeps the last', async () => {
  const [entry] = await list(ownRun(join(tempFolder(), 'run'), 1000, 'free'));
  expect(entry!.rewards).toHaveLength(60);
  expect(entry!.rewards!.at(-1)).toBe(100);
  expect(entry!.reward).toBe(100);
});

it('finds runs and logs below a folder, and nothing in runs, checkpoints and files that are no logs', async () => {
  const root = tempFolder();
  ownRun(join(root, 'a', 'ours'), 5, 'free');
  const history = '{"log_history": [{"step": 10, "reward": 0.5, "loss": 0}], "max_steps": 10}';
  write(join(root, 'b', 'trl', 'checkpoint-10', 'trainer_state.json'), history);
  write(join(root, 'logs', 'run.jsonl'), steps(4));
  write(join(root, 'logs', 'notes.txt'), 'a shopping list\n');
  write(join(root, 'logs', 'bytes.log'), '\0'.repeat(1000));
  write(join(root, 'model', 'config.json'), '{}');
  write(join(root, 'model', 'tokenizer.json'), '{}');
  const found = (await list(root)).map(({ id, ...entry }) => [
    id.slice(root.length + 1),
    entry.name,
    entry.kind,
    entry.state,
    entry.step,
    entry.reward,
  ]);
  expect(found).toEqual([
    ['a/ours', 'a/ours', 'run folder of grpo', 'finished', 5, 0.5],
    ['b/trl', 'b/trl', 'output folder of TRL or transformers', 'finished', 10, 0.5],
    ['logs/run.jsonl', 'logs/run.jsonl', 'metrics, JSON Lines', 'unknown', 4, 0.4],
  ]);
});

it('lists each run of a file that has several', async () => {
  const file = write(join(tempFolder(), 'log.jsonl'), steps(3) + steps(2));
  expect((await list(file)).map(({ id, step }) => [id, step])).toEqual([
    [`${file}#1`, 3],
    [`${file}#2`, 2],
  ]);
});

it('does not read a log of many megabytes for the list', async () => {
  const root = tempFolder();
  write(join(root, 'big.jsonl'), steps(10) + `${' '.repeat(99)}\n`.repeat(90_000));
  write(join(root, 'small.jsonl'), steps(3));
  const entries = await list(root);
  expect(entries.map(({ name, step }) => [name, step])).toEqual([
    ['big.jsonl', undefined],
    ['small.jsonl', 3],
  ]);
});

it('says what is wrong with a root, and shows the others', async () => {
  const root = tempFolder();
  const log = write(join(root, 'log.jsonl'), 'nothing\n');
  const run = ownRun(join(root, 'run'), 5, 'free');
  const entries = await list(join(root, 'none'), log, run);
  expect(entries.map(({ problem = '' }) => problem.replace(root, ''))).toEqual([
    expect.stringMatching(/there is no such file/),
    expect.stringMatching(/^\/log\.jsonl: /),
    '',
  ]);
});

it('sees the steps of a run that goes on', async () => {
  const folder = ownRun(join(tempFolder(), 'run'), 2, 'locked');
  const studio = new Studio([folder]);
  expect(await studio.answer('runs', {})).toMatchObject([{ step: 2 }]);
  write(join(folder, 'metrics.jsonl'), steps(4));
  expect(await studio.answer('runs', {})).toMatchObject([{ step: 2 }]);
  await studio.answer('refresh', { paths: [folder] });
  expect(await studio.answer('runs', {})).toMatchObject([{ step: 4 }]);
});

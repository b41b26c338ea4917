/** Runs whose reward is a judge on a server of this machine. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { resolveConfig } from '../config/index.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { train } from '../library/run.js';
import { judge } from '../rewards/index.js';
import { judgeServer, say, score, scoreOf } from '../rewards/judge/server.test.helper.js';
import { defineTask } from '../tasks/define.js';
import { readStepRecord } from '../trace/index.js';
import { openRun } from './open-run.js';
import { tinyModelFolder } from './tiny-model.test.helper.js';
import { trainGrpo } from './train-grpo.js';

const rowsOf = (...path: string[]) =>
  readFileSync(join(...path), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

it('trains for 20 steps on what a configured judge says, and keeps it', async () => {
  const { baseURL, asked } = await judgeServer((response, { message }) => {
    const value = scoreOf(/<<([\s\S]*)>>$/.exec(message)![1]!);
    say(response, JSON.stringify({ scores: { kind: value, right: 0.5 } }));
  });
  const folder = tempFolder();
  const place = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const rows = [...'abcdefgh'].map((letter) =>
    JSON.stringify({ question: `${letter}?`, hint: `not ${letter}` }),
  );
  const prompt = place('judge.txt', '{prompt} ({row.hint}) <<{completion}>>');
  const wanted = {
    baseURL,
    model: 'm',
    prompt,
    components: { kind: 3, right: 1 },
    cache: join(folder, 'cache'),
    requestsPerSecond: 1e5,
  };
  const settings = [
    `model=${await tinyModelFolder()}`,
    `output=${join(folder, 'run')}`,
    `task.data=${place('data.jsonl', rows.join('\n'))}`,
    `rewards=[{judge: ${JSON.stringify(wanted)}, name: kindness}]`,
    ...['task.grading=none', 'task.evalSize=2', 'eval.before=false', 'eval.samples=0', 'train.steps=20'],
    ...['rollout.prompts=2', 'rollout.group=4', 'rollout.maxNewTokens=6', 'record.every=20', 'threads=1'],
  ];
  const config = resolveConfig({ command: 'train', settings, env: {} });
  {
    await using session = await openRun(config);
    await trainGrpo(session);
  }
  const metrics = rowsOf(folder, 'run', 'metrics.jsonl');
  expect(metrics).toHaveLength(20);
  for (const { loss, reward_failures: failures } of metrics) {
    expect(Number.isFinite(loss)).toBe(true);
    expect(failures).toBe(0);
  }
  const provider = `m@${new URL(baseURL).host}`;
  for (const row of rowsOf(folder, 'run', 'completions.jsonl')) {
    expect(row.reward).toBeCloseTo(0.75 * scoreOf(row.completion) + 0.125, 9);
    expect(row.reward_parts.kindness).toEqual({ kind: scoreOf(row.completion), right: 0.5 });
    expect(row.reward_providers).toEqual({ kindness: provider });
  }
  // What the judge did is the network's, and stands with the times.
  const timings = rowsOf(folder, 'run', 'timings.jsonl');
  for (const row of timings) {
    // The preflight has asked for the first step's completions: these are in the cache.
    if (row.step > 1) expect(row['judge/kindness/latency_p95']).toBeGreaterThan(0);
    expect(row).toMatchObject({ 'judge/kindness/completions': 8, 'judge/kindness/fallback_share': 0 });
    expect(row[`judge/kindness/provider/${provider}`]).toBe(8);
  }
  const requests = timings.reduce((sum, row) => sum + row['judge/kindness/requests'], 0);
  // Those of the preflight, and of the evaluation after the last step, are not told.
  expect(asked.length - requests).toBeLessThanOrEqual(10);
  const { rewards } = readStepRecord(join(folder, 'run', 'steps', '000020'));
  expect(rewards!.providers).toEqual(Array(8).fill(provider));
  expect(rewards!.replies).toHaveLength(8);
  expect(Object.keys(JSON.parse(readFileSync(join(folder, 'run', 'config.json'), 'utf8')).files)).toContain(
    prompt,
  );
}, 60_000);

it('tells of a judge that is not there, and ranks by the other', async () => {
  const dead = await judgeServer((response) => response.destroy());
  const { baseURL } = await judgeServer((response) => say(response, '{"ranking": [2, 1, [3, 4]]}'));
  using own = await judge({
    baseURL: dead.baseURL,
    model: 'dead',
    prompt: '{completions}',
    ask: 'ranking',
    retries: 0,
    fallbacks: [{ baseURL, model: 'alive' }],
  });
  const task = defineTask({ name: 'letters', rows: [...'abcdef'], prompt: (row) => row, rewards: { own } });
  const notes: string[] = [];
  const timings: object[] = [];
  await train({
    model: await tinyModelFolder(),
    task,
    output: join(tempFolder(), 'run'),
    settings: {
      rollout: { prompts: 2, group: 4, maxNewTokens: 6 },
      train: { steps: 1 },
      eval: { before: false, samples: 0 },
    },
    onStep: (row) => timings.push(row),
    onNote: (text) => notes.push(text),
  });
  expect(notes.join('\n')).toMatch(
    /judge own: 8 of 8 completions \(100 %\) were judged by a fallback, since dead@\S+: no connection: /,
  );
});

it('stops with the words of a judge that does not answer in form', async () => {
  const { baseURL } = await judgeServer((response) => score(response, 'high'));
  using own = await judge({ baseURL, model: 'm', prompt: '{completion}' });
  const task = defineTask({ name: 'letters', rows: [...'abcdef'], prompt: (row) => row, rewards: { own } });
  const run = train({
    model: await tinyModelFolder(),
    task,
    output: join(tempFolder(), 'run'),
    settings: { rollout: { prompts: 2, group: 2, maxNewTokens: 4 }, eval: { before: false } },
  });
  await expect(run).rejects.toThrow(
    /reward own, completion 0: m@\S+ replied .*"score" is "high", not a number/,
  );
});

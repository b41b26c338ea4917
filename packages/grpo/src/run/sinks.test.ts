import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { MlflowServer } from '../sinks/mlflow/mlflow-server.test.helper.js';
import { rewarding } from '../step/step.test.helper.js';
import { placeOf } from '../trace/readers/place.js';
import { readTensorBoard } from '../trace/readers/tensorboard/tensorboard.js';
import { remainsOf, run, stepsOf } from './run.test.helper.js';

const SINKS = 'sinks=[csv, tensorboard]';
const EVALUATED = ['eval.every=3', 'checkpoint.every=3'];

const OF_SINKS = /^(csv|tensorboard|sinks)\b/;

/** Everything that a run leaves but what its sinks wrote. */
function withoutSinks(output: string) {
  const { files, ...others } = remainsOf(output);
  return {
    ...others,
    files: Object.fromEntries(Object.entries(files).filter(([name]) => !OF_SINKS.test(name))),
  };
}

/** A table by its columns. */
function csvIn(output: string, file: string): Record<string, number[]> {
  const [header, ...rows] = readFileSync(join(output, 'csv', file), 'utf8')
    .trimEnd()
    .split('\n');
  const cells = rows.map((row) => row.split(','));
  const numberOf = (cell: string) => (cell === '' ? Number.NaN : Number(cell));
  return Object.fromEntries(
    header!.split(',').map((name, i) => [name, cells.map((row) => numberOf(row[i]!))]),
  );
}

const rowsOf = (output: string, file: string) =>
  readFileSync(join(output, file), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, number>);

/** The tables have what the files of rows have. */
function expectMirrored(output: string): void {
  const table = csvIn(output, 'metrics.csv');
  const metrics = rowsOf(output, 'metrics.jsonl');
  expect(table.step).toEqual(metrics.map(({ step }) => step));
  expect(table.reward).toEqual(metrics.map(({ reward }) => reward));
  expect(table.step_time).toEqual(rowsOf(output, 'timings.jsonl').map(({ step_time }) => step_time));
  expect(csvIn(output, 'eval.csv').step).toEqual(rowsOf(output, 'eval.jsonl').map(({ step }) => step));
}

describe('sinks', () => {
  it('get every step, and change nothing of what is trained', async () => {
    const [plain, watched] = [tempFolder(), tempFolder()];
    await run({ output: plain, settings: EVALUATED });
    const { notes } = await run({ output: watched, settings: [...EVALUATED, SINKS] });
    expect(withoutSinks(watched)).toEqual(remainsOf(plain));
    expectMirrored(watched);
    expect(notes.filter((text) => text.startsWith('Numbers also go to'))).toEqual([
      `Numbers also go to csv (${join(watched, 'csv')}), tensorboard (${join(watched, 'tensorboard')}).`,
    ]);
  });

  it('have each step once after a run that died was resumed', async () => {
    const output = tempFolder();
    const settings = [...EVALUATED, SINKS];
    await expect(run({ output, settings, crashAfter: 5 })).rejects.toThrow('the lights went out');
    expect(csvIn(output, 'metrics.csv').step).toEqual([1, 2, 3, 4, 5]);
    await run({ output, settings, resume: true });
    expectMirrored(output);
    const folder = join(output, 'tensorboard');
    expect(readdirSync(folder)).toHaveLength(2);
    const { series } = readTensorBoard(placeOf(folder));
    expect(stepsOf(readFileSync(join(output, 'metrics.jsonl'), 'utf8'))).toEqual(
      series!.entries.filter(({ step }) => step > 0).map(({ step }) => step),
    );
  });

  it('get the earlier steps too where they are added to a run that is resumed', async () => {
    const output = tempFolder();
    await run({ output, settings: EVALUATED, stopAfter: 4 });
    expect(existsSync(join(output, 'csv'))).toBe(false);
    await run({ output, settings: [...EVALUATED, 'sinks=[csv]'], resume: true });
    expectMirrored(output);
  });

  it('wait in the files of the run while their server is away, and slow nothing down', async () => {
    const output = tempFolder();
    const server = await MlflowServer.start();
    const settings = [...EVALUATED, `sinks=[{mlflow: "${server.url}"}]`];
    server.behaviours = Array.from({ length: 99 }, () => 'dropped');
    const { notes, end } = await run({ output, settings, stopAfter: 4 });
    expect(end.interrupted).toBe(true);
    const told = notes.filter((text) => text.startsWith('mlflow'));
    expect(told).toEqual([
      expect.stringContaining("mlflow did not take the run's numbers: no connection to"),
      expect.stringMatching(
        /^mlflow did not get everything, 4 steps are missing: no connection to .*resumed\.$/,
      ),
    ]);
    server.behaviours = [];
    const { notes: later } = await run({ output, settings, resume: true });
    expect(later.filter((text) => text.startsWith('mlflow'))).toEqual([]);
    expect(server.stepsOf('reward')).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(server.stepsOf('eval/greedy/reward')).toEqual([0, 3, 6, 8]);
    expect(server.run.status).toBe('FINISHED');
    expect(server.run.params.get('rollout.group')).toBe('2');
  });

  it('tell of a crash, each finding once, and keep the address of a webhook to themselves', async () => {
    const output = tempFolder();
    const bodies: { event: string; text: string; findings?: { code: string }[] }[] = [];
    const server = createServer(async (request, response) => {
      let text = '';
      for await (const chunk of request) text += chunk;
      bodies.push(JSON.parse(text));
      response.end('ok');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    vi.stubEnv('TEST_HOOK', `http://127.0.0.1:${port}/services/SECRET`);
    onTestFinished(() => void vi.unstubAllEnvs());
    const settings = ['checkpoint.every=3', 'sinks=[{webhook: TEST_HOOK}]', 'train.steps=8'];
    const flat = { score: rewarding(() => 0) };
    await expect(run({ output, settings, stages: flat, crashAfter: 5 })).rejects.toThrow(
      'the lights went out',
    );
    const { notes } = await run({ output, settings, stages: flat, resume: true });
    const codes = bodies.flatMap(({ findings = [] }) => findings.map(({ code }) => code));
    expect(codes.length).toBeGreaterThan(0);
    expect(new Set(codes).size).toBe(codes.length);
    expect(bodies.filter(({ event }) => event !== 'finding').map(({ text }) => text)).toEqual([
      expect.stringMatching(/crashed after 5 steps, reward 0\.000: the lights went out$/),
      expect.stringMatching(/is done after 8 steps, reward 0\.000$/),
    ]);
    const files = readdirSync(output, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'));
    expect([...files, ...notes].join()).not.toContain('SECRET');
  });

  it('that lack something are an error before the run has a folder', async () => {
    const output = join(tempFolder(), 'run');
    vi.stubEnv('WANDB_API_KEY', '');
    onTestFinished(() => void vi.unstubAllEnvs());
    for (const [sink, message] of [
      ['{webhook: NO_SUCH_VARIABLE}', /NO_SUCH_VARIABLE is not set/],
      ['{wandb: a}', /@wandb\/sdk, which is not installed|WANDB_API_KEY is not set/],
    ] as const)
      await expect(run({ output, settings: [`sinks=[${sink}]`] })).rejects.toThrow(message);
    expect(existsSync(output)).toBe(false);
  });

  it.each([
    [
      '{webhook: "https://hooks.slack.com/services/T/B/SECRET"}',
      /give its name: \{webhook: GRPO_WEBHOOK_URL\}/,
    ],
    ['{webhook: "https://here/?key=SECRET"}', /config\.json would keep it/],
    ['{mlflow: "http://ann:SECRET@here:5000"}', /MLFLOW_TRACKING_PASSWORD/],
    ['{webhok: a}', /expected csv \| tensorboard \| \{webhook, format, events\} \| \{mlflow, /],
  ])('are refused as %s', async (sinks, message) => {
    const refused = run({ output: tempFolder(), settings: [`sinks=[${sinks}]`] });
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.not.toThrow(/SECRET/);
  });

  it('that cannot work are an error before the first step', async () => {
    const output = tempFolder();
    writeFileSync(join(output, 'csv'), 'a file where the folder would be');
    await expect(run({ output, settings: [SINKS] })).rejects.toThrow(/csv/);
    expect(readFileSync(join(output, 'metrics.jsonl'), 'utf8')).toBe('');
  });
});

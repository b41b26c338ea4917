import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { MlflowSetting } from '../../config/sections/sinks.js';
import { Delivery } from '../delivery.js';
import { RunFiles } from '../run-files.test.helper.js';
import { RunFollower } from '../run-follower.js';
import type { RunOutcome } from '../sink.js';
import { openMlflow } from './mlflow.js';
import { type Behaviour, MlflowServer } from './mlflow-server.test.helper.js';

const DONE: RunOutcome = { how: 'done', steps: 3 };

const settingOf = (server: MlflowServer, more: Partial<MlflowSetting> = {}): MlflowSetting => ({
  mlflow: `${server.url}/`,
  experiment: 'tries',
  ...more,
});

/** A run with the settings that its `config.json` has. */
function runWith(
  values: Record<string, unknown> = { seed: 7, 'task.name': 'sums', rewards: [], output: undefined },
) {
  const run = new RunFiles();
  const entries = Object.entries(values).map(([key, value]) => [key, { value, source: 'default' }]);
  const record = { versions: {}, engine: {}, files: {}, seed: 7, values: Object.fromEntries(entries) };
  writeFileSync(join(run.folder, 'config.json'), JSON.stringify(record));
  return run;
}

/** Delivers what the run has to the server, and the end. */
async function deliver(run: RunFiles, setting: MlflowSetting, outcome: RunOutcome = DONE) {
  const notes: string[] = [];
  const waits: number[] = [];
  const cursor = run.cursor('mlflow');
  const sink = openMlflow({ folder: run.folder, cursor, done: 0 }, setting);
  const follower = new RunFollower(run.folder, cursor.delivered, false);
  const wait = async (seconds: number) => {
    waits.push(seconds);
    delivery.end(outcome);
  };
  const delivery = new Delivery('mlflow', sink, follower, cursor, (text) => notes.push(text), wait);
  await delivery.run();
  return { notes, waits };
}

function threeSteps(run = runWith()): RunFiles {
  run.add('eval.jsonl', { step: 0, greedy: { reward: 'NaN' } });
  for (let step = 1; step <= 3; step++) run.step(step, { 'rewards/a,b/mean': step });
  return run;
}

afterEach(() => vi.unstubAllEnvs());

describe('the sink of MLflow', () => {
  it('makes a run with parameters, metrics and an end', async () => {
    const server = await MlflowServer.start();
    const run = threeSteps();
    const { notes } = await deliver(run, settingOf(server));
    expect(notes).toEqual([]);
    expect([...server.experiments.keys()]).toEqual(['tries']);
    expect(server.run).toMatchObject({
      name: basename(run.folder),
      status: 'FINISHED',
      end: expect.any(Number),
    });
    expect(Object.fromEntries(server.run.params)).toEqual({ seed: '7', 'task.name': 'sums', rewards: '[]' });
    expect(server.stepsOf('reward')).toEqual([1, 2, 3]);
    expect(server.run.metrics).toContainEqual({ key: 'loss', value: -2, timestamp: 1_002_000, step: 2 });
    expect(server.run.metrics).toContainEqual({
      key: 'rewards/a_b/mean',
      value: 3,
      timestamp: 1_003_000,
      step: 3,
    });
    const [evaluated] = server.run.metrics.filter(({ key }) => key === 'eval/greedy/reward');
    expect(evaluated).toMatchObject({ value: 'NaN', step: 0 });
    expect(server.authorizations).toEqual(new Set([undefined]));
  });

  it('keeps to the limits of a request', async () => {
    const server = await MlflowServer.start();
    const run = runWith(
      Object.fromEntries(Array.from({ length: 250 }, (_, i) => [`key.${i}`, i === 9 ? 'x'.repeat(9000) : i])),
    );
    run.step(
      1,
      Object.fromEntries(Array.from({ length: 2500 }, (_, i) => [`rewards/${'y'.repeat(200)}${i}`, i])),
    );
    for (let step = 2; step <= 120; step++) run.step(step, { a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7 });
    const waits = (await deliver(run, settingOf(server))).waits.length;
    expect(waits).toBe(1);
    expect(server.run.params.size).toBe(250);
    expect(server.run.params.get('key.9')).toHaveLength(250);
    expect(server.run.metrics).toHaveLength(2500 + 3 + 119 * 10);
  });

  it('sends what the server has taken of a batch no second time', async () => {
    const server = await MlflowServer.start();
    const run = runWith();
    for (let step = 1; step <= 90; step++)
      run.step(step, Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`m${i}`, i])));
    const before = [
      'experiments/get-by-name',
      'experiments/create',
      'runs/search',
      'runs/create',
      'params',
      'first',
    ];
    server.behaviours = [...before.map((): Behaviour => 'ok'), { status: 503 }];
    await deliver(run, settingOf(server));
    expect(server.run.metrics).toHaveLength(90 * 23);
    expect(server.received).toBe(90 * 23);
  });

  const bad: [string, Behaviour, number?][] = [
    ['is slow', 'slow'],
    ['drops the connection', 'dropped'],
    ['breaks off in its answer, after it did what was asked', 'cut'],
    ['is in trouble', { status: 500, body: '<html>' }],
    ['limits requests', { status: 429, retryAfter: '33' }, 33],
    ['refuses the key', { status: 401 }],
    ['is a proxy', { status: 200, body: '<html>Sign in</html>' }],
  ];
  it.each(bad)(
    'gets everything once to a server that %s, at whichever request',
    async (_, behaviour, wait) => {
      const asked = 8;
      for (let at = 0; at < asked; at++) {
        const server = await MlflowServer.start();
        server.behaviours = [...Array.from({ length: at }, (): Behaviour => 'ok'), behaviour];
        const { waits } = await deliver(threeSteps(), settingOf(server));
        expect(server.requests.length).toBeGreaterThanOrEqual(asked - 1);
        expect(server.stepsOf('reward'), `request ${at}`).toEqual([1, 2, 3]);
        expect(server.run.status).toBe('FINISHED');
        expect(server.run.params.size).toBe(3);
        if (wait !== undefined && at < asked - 1) expect(waits).toContain(wait);
      }
    },
  );

  it('goes on with its run where a run is resumed', async () => {
    const server = await MlflowServer.start();
    const run = threeSteps();
    await deliver(run, settingOf(server), { how: 'crashed', steps: 3, reason: 'out of memory' });
    expect(server.run).toMatchObject({ status: 'FAILED' });
    expect(server.run.tags.get('grpo_end')).toBe('out of memory');
    run.step(4);
    await deliver(run, settingOf(server), { how: 'interrupted', steps: 4 });
    expect(server.stepsOf('reward')).toEqual([1, 2, 3, 4]);
    expect(server.run.status).toBe('KILLED');
    for (const path of ['runs/search', 'runs/create'])
      expect(server.requests.filter((asked) => asked === path)).toHaveLength(1);
  });

  it('sends the key of the environment, and shows it nowhere', async () => {
    vi.stubEnv('MLFLOW_TRACKING_TOKEN', 'SECRET-TOKEN');
    const server = await MlflowServer.start();
    server.behaviours = [{ status: 403, body: '{"message": "no access for SECRET-TOKEN"}' }];
    const run = threeSteps();
    const { notes } = await deliver(run, settingOf(server));
    expect(server.authorizations).toEqual(new Set(['Bearer SECRET-TOKEN']));
    expect(notes[0]).toMatch(/answers 403: "no access for \[secret\]"\. Check MLFLOW_TRACKING_TOKEN/);
    const files = ['sinks/mlflow.json', 'config.json'].map((file) =>
      readFileSync(join(run.folder, file), 'utf8'),
    );
    expect([...notes, ...files].join()).not.toContain('SECRET-TOKEN');
  });

  it('shows no key that a proxy sends back', async () => {
    vi.stubEnv('MLFLOW_TRACKING_TOKEN', 'SECRET-TOKEN');
    const server = await MlflowServer.start();
    server.behaviours = [{ status: 200, body: 'You sent: Bearer SECRET-TOKEN' }];
    const { notes } = await deliver(threeSteps(), settingOf(server));
    expect(notes[0]).toMatch(/does not answer as MLflow does: "You sent: Bearer \[secret\]"/);
  });

  it('sends a name and a password', async () => {
    vi.stubEnv('MLFLOW_TRACKING_USERNAME', 'ann');
    vi.stubEnv('MLFLOW_TRACKING_PASSWORD', 'pass');
    const server = await MlflowServer.start();
    await deliver(threeSteps(), settingOf(server, { name: 'mine' }));
    expect(server.authorizations).toEqual(new Set(['Basic YW5uOnBhc3M=']));
    expect(server.run.name).toBe('mine');
  });
});

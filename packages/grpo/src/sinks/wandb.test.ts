import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { RunFiles } from './run-files.test.helper.js';
import { type Item, Undelivered } from './sink.js';
import { openWandb, requireWandb } from './wandb.js';

const record = {
  versions: {},
  engine: {},
  files: {},
  seed: 7,
  values: { seed: { value: 7, source: 'default' } },
};

/** A stand-in with the functions of `@wandb/sdk` 0.5.1 that the sink calls. */
function standIn() {
  const inits: object[] = [];
  const rows: [data: object, step: number, commit: boolean][] = [];
  const codes: number[] = [];
  const run = {
    log: (data: Record<string, number>, step: number, commit: boolean) =>
      void rows.push([data, step, commit]),
    finish: async (code: number) => void codes.push(code),
  };
  const init = async (options: object) => {
    inits.push(options);
    return run;
  };
  return { inits, rows, codes, sdk: async () => ({ init }) };
}

function runFiles() {
  const run = new RunFiles();
  writeFileSync(join(run.folder, 'config.json'), JSON.stringify(record));
  return run;
}

afterEach(() => vi.unstubAllEnvs());

it('logs the numbers of a step, and those of an evaluation with the next step', async () => {
  const { inits, rows, codes, sdk } = standIn();
  const run = runFiles();
  const context = { folder: run.folder, cursor: run.cursor('wandb'), done: 0 };
  const sink = openWandb(context, { wandb: 'tries', entity: 'us', name: 'first' }, sdk);
  await sink.send([
    { kind: 'evaluation', step: 0, time: 1, values: { 'greedy/reward': 0.5 } },
    { kind: 'step', step: 1, time: 2, values: { reward: 1, kl: Number.NaN }, completions: [] },
  ]);
  await sink.send([{ kind: 'end', step: 1, time: 3, outcome: { how: 'crashed', steps: 1 } }]);
  expect(inits).toEqual([{ project: 'tries', entity: 'us', name: 'first', config: { seed: 7 } }]);
  expect(rows).toEqual([
    [{ 'eval/greedy/reward': 0.5, 'eval/step': 0 }, 0, false],
    [{ reward: 1 }, 1, true],
  ]);
  expect(codes).toEqual([1]);
});

it('begins another run there where a run is resumed', async () => {
  const { inits, sdk } = standIn();
  const run = runFiles();
  const sink = openWandb(
    { folder: run.folder, cursor: run.cursor('wandb'), done: 5 },
    { wandb: 'a', name: 'b' },
    sdk,
  );
  await sink.send([{ kind: 'step', step: 6, time: 1, values: {}, completions: [] }]);
  expect(inits).toMatchObject([{ name: 'b-after-5' }]);
});

it('tries again where the package cannot begin a run', async () => {
  const { rows, sdk } = standIn();
  const run = runFiles();
  let attempts = 0;
  const flaky = async () => {
    const { init } = await sdk();
    return {
      init: (options: object) => (++attempts === 1 ? Promise.reject(new Error('away')) : init(options)),
    };
  };
  const sink = openWandb({ folder: run.folder, cursor: run.cursor('wandb'), done: 0 }, { wandb: 'a' }, flaky);
  const items: Item[] = [{ kind: 'step', step: 1, time: 1, values: { reward: 2 }, completions: [] }];
  await expect(sink.send(items)).rejects.toThrow(new Undelivered('@wandb/sdk: away'));
  await sink.send(items);
  expect(rows).toEqual([[{ reward: 2 }, 1, true]]);
});

it('says what is missing', () => {
  vi.stubEnv('WANDB_API_KEY', '');
  expect(() => requireWandb()).toThrow(/@wandb\/sdk, which is not installed|WANDB_API_KEY is not set/);
});

import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { Dice, mutateBytes, replaceFile, requireUserError } from '../../formats/mutate.test.helper.js';
import { sharedFolder } from '../../formats/temp-folder.test.helper.js';
import type { StepRecord } from '../record.js';
import { shapeProblem } from '../shapes.js';
import { config, event, history, wandbLog } from './binary-logs.test.helper.js';
import { lines, TRL_RUN } from './files.test.helper.js';
import { readRun } from './index.js';

const run = fileURLToPath(TRL_RUN);
const table = 'completions/completions_00001.parquet';
const state = 'checkpoint-4/trainer_state.json';
const settings = 'checkpoint-4/training_args.bin';

const metrics = [1, 2, 3].map((step) => ({
  step,
  loss: 0.1,
  reward: 0.5,
  'rewards/a/mean': 0.5,
  data: { kl: 0.1 },
}));
const completions = [1, 1, 2].map((step) => ({
  step,
  prompt: 'p',
  completion: 'c',
  completion_ids: [1, 2],
  completion_mask: [1, 0],
  rewards: { a: 1 },
  reward: 1,
  advantage: 0.5,
}));
const console_ = [
  " 50%|#####     | 1/2 [00:01<00:01, 1it/s]{'loss': 0.1, 'reward': '0.5', 'kl': nan} {'eval_reward': 0.2}",
  'step:1 - actor/entropy:0.5 - critic/rewards/mean:0.25',
  '09:00:00 | ==================== PHASE 4: X ====================',
  '09:00:02 |   Gen 1: Reward= 0.100 | M: a',
  '   1 |  0.188 |  0.188 |  0.000 |  -0.113 |   0.000 |   0.0 |  3.165 |  10.50 | 0.000 |  44.00',
  '[Micro 0] 3. Samples scored: rewards=0.4±0.1',
  'iter 0: loss 0.1235 (main 0.1235, critic 0.0000), time 21747.97ms',
  "[Judge@step1] time=5.5s providers={'openai': 20}",
].join('\n');

/** What is damaged, by the name under which it is read. */
const inputs: Readonly<Record<string, Buffer>> = {
  'm.jsonl': Buffer.from(lines(metrics)),
  'c.jsonl': Buffer.from(lines(completions)),
  'console.log': Buffer.from(console_),
  't.csv': Buffer.from('step,loss,reward,kl\n1,0.1,0.5,0.01\n2,"0.2",0.5,nan\n'),
  'events.out.tfevents.1': Buffer.concat(
    metrics.flatMap(({ step }) => [event(step, 'train/loss', 0.1), event(step, 'train/reward', 0.5, true)]),
  ),
  'run-a.wandb': wandbLog([config({ beta: 0 }), ...metrics.map((row) => history(row.step, row))]),
  'n.ipynb': Buffer.from(
    JSON.stringify({ nbformat: 4, cells: [{ source: 'GRPOConfig(beta=1)', outputs: [{ text: console_ }] }] }),
  ),
  'd.json': Buffer.from(JSON.stringify({ args: { beta: 0 }, log: { train: metrics } }, null, 1)),
  'm.jsonl.gz': gzipSync(lines(metrics)),
  'step_1_logs.json': Buffer.from(JSON.stringify(metrics[0])),
  'trainer_state.json': readFileSync(join(run, state)),
  't.parquet': readFileSync(join(run, table)),
};

const folder = sharedFolder();
beforeAll(() => {
  cpSync(run, join(folder, 'run'), { recursive: true });
});

/** Reads all that there is; undefined when it was refused as people need it. */
async function readAll(path: string, seed: number): Promise<readonly StepRecord[] | undefined> {
  try {
    const { records = [] } = await readRun(path);
    return [...records];
  } catch (error) {
    requireUserError(error, seed);
    return undefined;
  }
}

describe('damaged files', () => {
  it.each(Object.keys(inputs))('%s is read or refused', async (name) => {
    let read = 0;
    for (let seed = 0; seed < 300; seed++) {
      const path = join(folder, name);
      replaceFile(path, mutateBytes(new Dice(seed), inputs[name]!));
      const records = await readAll(path, seed);
      // What is read can be checked: its arrays fit together.
      for (const record of records ?? []) expect(shapeProblem(record), `seed ${seed}`).toBeUndefined();
      read += Number(records !== undefined);
    }
    expect(read).toBeGreaterThan(0);
  });

  it('settings in a run are read or named as broken', async () => {
    const whole = readFileSync(join(run, settings));
    for (let seed = 0; seed < 100; seed++) {
      replaceFile(join(folder, 'run', settings), mutateBytes(new Dice(seed), whole));
      expect(await readAll(join(folder, 'run'), seed), `seed ${seed}`).toHaveLength(4);
    }
  });
});

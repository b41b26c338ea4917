import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { Studio } from './studio.js';

const rows = (all: readonly object[]) => all.map((row) => `${JSON.stringify(row)}\n`).join('');
const range = (count: number) => Array.from({ length: count }, (_, i) => i);

function ownRun(count: number): string {
  const folder = tempFolder();
  writeFileSync(join(folder, 'config.json'), '{}');
  const metrics = range(count).map((i) => ({
    step: i + 1,
    reward: i === 1 ? 'NaN' : 0.25,
    'rewards/right/mean': 0.25,
    'completions/clipped_ratio': 0.1,
    kl: 0.01,
    grad_norm: 0.5,
    'sampling/sampling_logp_difference/mean': 0.001,
    step_tokens: 9,
  }));
  writeFileSync(join(folder, 'metrics.jsonl'), rows(metrics));
  writeFileSync(
    join(folder, 'timings.jsonl'),
    rows(range(count).map((i) => ({ step: i + 1, 'seconds/sample': 2, 'reward_seconds/right': 1 }))),
  );
  writeFileSync(join(folder, 'eval.jsonl'), rows([{ step: 2, greedy: { reward: 0.5 } }]));
  return folder;
}

const curves = (run: string) => new Studio([run]).answer('curves', { run });

it('has every metric of a run, in groups, with NaN where the log has it', async () => {
  const { curves: all } = await curves(ownRun(3));
  expect(all.map(({ name, group, unit }) => [name, group, unit])).toEqual([
    ['reward', 'reward', undefined],
    ['rewards/right/mean', 'reward parts', undefined],
    ['completions/clipped_ratio', 'length', 'share'],
    ['step_tokens', 'length', 'tokens'],
    ['kl', 'policy', 'nats per token'],
    ['sampling/sampling_logp_difference/mean', 'policy', 'nats per token'],
    ['grad_norm', 'gradient', undefined],
    ['seconds/sample', 'time', 's'],
    ['reward_seconds/right', 'time', 's'],
    ['eval_reward', 'evaluation', undefined],
  ]);
  const [reward] = all;
  expect(reward).toMatchObject({
    steps: new Float64Array([1, 2, 3]),
    values: new Float64Array([0.25, Number.NaN, 0.25]),
  });
  expect([...all.at(-1)!.steps]).toEqual([2]);
});

it('draws the bounds of the checks that can judge the run, with their sources', async () => {
  const bandOf = async (count: number, name: string) =>
    (await curves(ownRun(count))).curves.find((curve) => curve.name === name)?.band;
  expect(await bandOf(20, 'sampling/sampling_logp_difference/mean')).toEqual({
    high: 0.1,
    says: 'B39.log: mean gap at most 0.1 nat per token in the median; one entry alone only informs.',
    source: 'huggingface/trl#3867, huggingface/trl#4772, inclusionAI/AReaL#1290',
  });
  expect(await bandOf(20, 'grad_norm')).toMatchObject({ high: 2.5 });
  expect(await bandOf(10, 'grad_norm')).toBeUndefined();
  expect(await bandOf(20, 'rewards/right/mean')).toBeUndefined();
});

it('takes the narrowest of several bounds, and names whose each is', async () => {
  const { curves: all } = await curves(ownRun(20));
  const cut = all.find(({ name }) => name === 'completions/clipped_ratio')?.band;
  expect(cut).toMatchObject({ high: 0.15, says: expect.stringMatching(/^B09\.log/) });
  const kl = all.find(({ name }) => name === 'kl')?.band;
  expect(kl).toMatchObject({ low: -0.1, high: 1, says: expect.stringMatching(/^B38\.log.*B49\.explosion/) });
});

it('says which steps have a whole record, and which only texts', async () => {
  const folder = ownRun(3);
  const completions = [1, 2, 3].map((step) => ({ step, prompt: 'p', completion: 'c', total: 1 }));
  writeFileSync(join(folder, 'completions.jsonl'), rows(completions));
  const step = join(folder, 'steps', '000002');
  mkdirSync(step, { recursive: true });
  writeFileSync(
    join(step, 'step.json'),
    JSON.stringify({ format: 'grpo-step', version: 2, step: 2, producer: {} }),
  );
  const { records } = await curves(folder);
  expect(records).toEqual([
    { step: 1, isWhole: false },
    { step: 2, isWhole: true },
    { step: 3, isWhole: false },
  ]);
});

it('reads the whole rows of a run that is being written', async () => {
  const folder = ownRun(3);
  appendFileSync(join(folder, 'metrics.jsonl'), '{"step":4,"reward":0.5,"kl":0.0');
  appendFileSync(join(folder, 'timings.jsonl'), '{"st');
  const { curves: all, entry } = await curves(folder);
  expect(all[0]!.steps).toHaveLength(3);
  expect(entry).toMatchObject({ step: 3, kind: 'run folder of grpo' });
});

it('shows a run that has not ended its first step', async () => {
  const folder = tempFolder();
  writeFileSync(join(folder, 'config.json'), '{}');
  writeFileSync(join(folder, 'metrics.jsonl'), '');
  expect(await curves(folder)).toMatchObject({
    curves: [],
    records: [],
    notes: [
      expect.any(String),
      expect.stringContaining('metrics.jsonl has no row yet: the run has not ended its first step.'),
    ],
  });
});

it('reads one run of several in a file', async () => {
  const file = join(tempFolder(), 'log.jsonl');
  writeFileSync(file, rows([1, 2, 3, 1, 2].map((step) => ({ step, reward: step, loss: 0 }))));
  const { entry, curves: all } = await new Studio([file]).answer('curves', { run: `${file}#2` });
  expect(entry).toMatchObject({ id: `${file}#2`, step: 2, reward: 2 });
  expect([...all[0]!.values]).toEqual([1, 2]);
});

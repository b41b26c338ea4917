import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { crc32c } from '../../formats/crc32c.js';
import { folderOf } from '../../formats/temp-folder.test.helper.js';
import { config, event, history, wandbLog } from './binary-logs.test.helper.js';
import { column, lines, readText, steps } from './files.test.helper.js';
import { readRun } from './index.js';

const rows = [1, 2, 3].map((step) => ({ step, loss: 0.1, reward: step / 4, reward_std: 0.2 }));

describe('TensorBoard events', () => {
  const events = Buffer.concat([
    event(
      0,
      'args/text_summary',
      JSON.stringify({ num_generations: 4, beta: 0.04, logging_steps: 1, generation_batch_size: 8 }),
    ),
    ...[1, 2, 3].flatMap((step) => [
      event(step, 'train/loss', 0.5),
      event(step, 'train/reward', step / 4, step === 2),
      event(step, 'train/completions/clipped_ratio', 0.25),
    ]),
  ]);

  it('are read with the settings among them', async () => {
    const reading = await readRun(folderOf({ 'events.out.tfevents.1.host.2.0': events }));
    expect(reading).toMatchObject({ kind: 'TRL events of TensorBoard', isGrpo: true });
    expect(steps(reading)).toEqual([1, 2, 3]);
    expect(column(reading, 'reward')).toEqual([0.25, 0.5, 0.75]);
    expect(reading.declared).toMatchObject({ rollout: { group: 4 }, kl: { beta: 0.04 } });
    expect(reading.series).toMatchObject({ stepsPerEntry: 1 });
  });

  it('that are cut off or damaged are read as far as they go', async () => {
    const cut = await readText('events.out.tfevents.1', events.subarray(0, -9));
    expect(column(cut, 'reward')).toEqual([0.25, 0.5, 0.75]);
    expect(cut.broken).toMatchObject({ count: 1, first: [{ reason: expect.stringContaining('cut off') }] });
    const damaged = Buffer.from(events);
    damaged[damaged.length - 6]! ^= 1;
    expect((await readText('events.out.tfevents.1', damaged)).broken.first[0]!.reason).toContain('checksum');
  });

  it('have the checksum of Castagnoli', () => {
    // RFC 3720, B.4.
    expect(crc32c(new Uint8Array(32))).toBe(0x8a9136aa);
    expect(crc32c(new Uint8Array(32).fill(0xff))).toBe(0x62a8ab43);
  });
});

describe('W&B', () => {
  const log = wandbLog([
    config({ num_generations: 8, note: 'x'.repeat(40_000) }),
    ...[1, 2, 3].map((step) =>
      history(step + 10, { 'train/global_step': step, 'train/reward': step / 4, 'train/loss': 0.1 }),
    ),
  ]);

  it('has a log of its own, of records over several blocks', async () => {
    const reading = await readText('run-abc.wandb', log);
    expect(reading).toMatchObject({ kind: 'log of W&B', isGrpo: true });
    expect(steps(reading)).toEqual([1, 2, 3]);
    expect(column(reading, 'reward')).toEqual([0.25, 0.5, 0.75]);
    expect(reading.declared).toMatchObject({ rollout: { group: 8 } });
  });

  it('keeps the output where the log has no history, and the settings beside it', async () => {
    const folder = folderOf({
      'wandb/run-20260101_000000-abc/run-abc.wandb': wandbLog([config({})]),
      'wandb/run-20260101_000000-abc/files/output.log':
        'step 1 | loss 0.1 | reward 0.5\nstep 2 | loss 0.1 | reward 0.6\n',
      'wandb/run-20260101_000000-abc/files/config.yaml':
        'wandb_version: 1\nbeta:\n  desc: null\n  value: 0.04\n',
    });
    const reading = await readRun(folder);
    expect(column(reading, 'reward')).toEqual([0.5, 0.6]);
    expect(reading.declared).toMatchObject({ kl: { beta: 0.04 } });
    expect(reading.notes.join(' ')).toContain('without a history');
  });

  it('is read with settings that are broken, which are named', async () => {
    const reading = await readRun(
      folderOf({ 'run-abc.wandb': log, 'files/config.yaml': 'beta: [1\n value: {' }),
    );
    expect(steps(reading)).toEqual([1, 2, 3]);
    expect(reading.notes.join(' ')).toMatch(/Not read: .*config\.yaml/);
  });

  it('is named where nothing in it can be read', async () => {
    await expect(readText('run-abc.wandb', wandbLog([]))).rejects.toThrow(
      /W&B’s own log of a run, without a history/,
    );
  });
});

describe('a notebook', () => {
  const html = `<table border="1" class="dataframe"><thead><tr><th>Step</th><th>Training Loss</th><th>reward</th><th>rewards / a &amp; b</th></tr></thead>
    <tbody><tr><td>1</td><td>0.100000</td><td>0.5</td><td>0.0</td></tr><tr><td>2</td><td>0.2</td><td>0.6</td><td>0.0</td></tr></tbody></table>`;
  const notebook = {
    nbformat: 4,
    cells: [
      {
        cell_type: 'code',
        source: ['args = GRPOConfig(\n', '    num_generations = 6,\n', '    beta = 0.0,\n', ')\n'],
        outputs: [],
      },
      {
        cell_type: 'code',
        source: 'trainer.train()',
        outputs: [{ output_type: 'display_data', data: { 'text/html': [html], 'text/plain': ['<HTML>'] } }],
      },
      {
        cell_type: 'code',
        source: 'x',
        outputs: [{ output_type: 'error', ename: 'ValueError', evalue: 'no more' }],
      },
    ],
  };

  it('shows the table of its run, its settings and its last exception', async () => {
    const reading = await readText('a.ipynb', JSON.stringify(notebook, null, 1));
    expect(reading.kind).toBe('table of metrics in a notebook');
    expect(steps(reading)).toEqual([1, 2]);
    expect(column(reading, 'loss')).toEqual([0.1, 0.2]);
    expect(column(reading, 'rewards/a & b/mean')).toEqual([0, 0]);
    expect(reading.declared).toMatchObject({ rollout: { group: 6 } });
    expect(reading.series!.exception!.text).toBe('ValueError: no more');
  });

  it('may be saved as a page', async () => {
    const reading = await readText('a.html', `<!DOCTYPE html><html><body>${html}</body></html>`);
    expect(column(reading, 'reward')).toEqual([0.5, 0.6]);
  });

  it('may be pasted into a text, among its words', async () => {
    const rows = html.replaceAll('<td>', '\n      <td>').replace('</tr><tr>', '</tr>\n<tr>');
    const text = `# Model card\n\nIt was trained with GRPO.\n\n${rows}\n\nMore words: a <tr is no row.\n`;
    for (const name of ['README.md', 'a.txt']) {
      const reading = await readText(name, text);
      expect(steps(reading)).toEqual([1, 2]);
      expect(column(reading, 'reward')).toEqual([0.5, 0.6]);
    }
  });

  it('without outputs says so', async () => {
    const empty = { ...notebook, cells: [{ ...notebook.cells[0]!, outputs: [] }] };
    await expect(readText('a.ipynb', JSON.stringify(empty))).rejects.toThrow(/without outputs/);
  });
});

describe('what was not measured', () => {
  const RATIO = 'sampling/importance_sampling_ratio';

  it('is a zero beside a cell that says so', async () => {
    const reading = await readText(
      'a.md',
      `| Step | Training Loss | reward | kl | ${RATIO}/mean |
| --- | --- | --- | --- | --- |
| 1 | No log | 0.500000 | 0 | 0.000000 |
| 2 | 0.100000 | 0.000000 | 0.010000 | 0.990000 |`,
    );
    expect(column(reading, 'reward')).toEqual([0.5, 0]);
    expect(column(reading, 'kl')).toEqual([undefined, 0.01]);
    expect(column(reading, `${RATIO}/mean`)).toEqual([undefined, 0.99]);
  });

  it('is a ratio whose least, mean and largest are 0', async () => {
    const row = (step: number, least: number, mean: number, most: number) =>
      JSON.stringify({
        step,
        reward: 0.5,
        'clip_ratio/region_mean': 0,
        [`${RATIO}/min`]: least,
        [`${RATIO}/mean`]: mean,
        [`${RATIO}/max`]: most,
      });
    const reading = await readText('a.jsonl', [row(1, 0, 0, 0), row(2, 0, 0.9, 1)].join('\n'));
    expect(column(reading, `${RATIO}/mean`)).toEqual([undefined, 0.9]);
    expect(column(reading, `${RATIO}/min`)).toEqual([undefined, 0]);
    expect(column(reading, 'clip_ratio/region_mean')).toEqual([0, 0]);
  });
});

describe('a JSON document', () => {
  it.each([
    ['a list', rows],
    ['a list within', { model: 'm', result: { train: { history: rows } } }],
    ['columns', { step: [1, 2, 3], loss: [0.1, 0.1, 0.1], mean_reward: [0.25, 0.5, 0.75], done: true }],
    ['rows by step', { log: Object.fromEntries(rows.map(({ step, ...row }) => [`step_${step}`, row])) }],
    ['columns of pandas', { loss: { 0: 0.1, 1: 0.1, 2: 0.1 }, reward: { 0: 0.25, 1: 0.5, 2: 0.75 } }],
  ])('may hold %s', async (_, value) => {
    for (const text of [JSON.stringify(value), JSON.stringify(value, null, 2)]) {
      const reading = await readText('a.json', text);
      expect(steps(reading)).toEqual([1, 2, 3]);
      expect(column(reading, 'reward')).toEqual([0.25, 0.5, 0.75]);
    }
  });

  it('may have values by step beside its log', async () => {
    const eval_history = { 2: 0.3, step_4: 0.4 };
    const reward_curve = { 1: 0.5, 2: 0.6, 3: 0.7 };
    const columns = { step: [1, 2, 3], loss: [0.1, 0.1, 0.1] };
    const reading = await readText('a.json', JSON.stringify({ ...columns, eval_history, reward_curve }));
    expect(steps(reading)).toEqual([1, 2, 3, 4]);
    expect(column(reading, 'reward')).toEqual([0.5, 0.6, 0.7, undefined]);
    expect(column(reading, 'eval_history')).toEqual([undefined, 0.3, undefined, 0.4]);
    expect(reading.notes).toContain('eval_history has 2 values by step: read beside the log.');
    const { step: _, ...uncounted } = { ...columns, reward: [0.1, 0.2, 0.3] };
    const left = await readText('a.json', JSON.stringify({ ...uncounted, eval_history }));
    expect(steps(left)).toEqual([1, 2, 3]);
    expect(left.notes.join()).toMatch(/eval_history has 2 values by step, .*: left out/);
  });

  it('may have its metric by step', async () => {
    const reading = await readText('a.json', JSON.stringify({ reward: { 10: 0.2, 20: 0.3 } }));
    expect(steps(reading)).toEqual([10, 20]);
  });

  it('with one row has one', async () => {
    const reading = await readText('a.json', JSON.stringify({ log: [{ step: 1, loss: 0.1, reward: 0.5 }] }));
    expect(reading.notes).toContain('1 row at log.');
  });

  it('of an evaluation is no log', async () => {
    const text = JSON.stringify({ baseline: { accuracy: 0.5, n: 40 }, trained: { accuracy: 0.9, n: 40 } });
    await expect(readText('a.json', text)).rejects.toThrow(/summary of an evaluation/);
  });
});

describe('a log in other bytes', () => {
  const text = lines(rows);
  it.each([
    ['gzip', 'm.jsonl.gz', gzipSync(text)],
    ['UTF-16', 'm.jsonl', Buffer.from(`\ufeff${text}`, 'utf16le')],
  ])('is read: %s', async (_, name, bytes) => {
    expect(column(await readText(name, bytes), 'reward')).toEqual([0.25, 0.5, 0.75]);
  });

  it('is asked for where Git left only a pointer', async () => {
    const pointer = 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n';
    await expect(readText('trainer_state.json', pointer)).rejects.toThrow(/Git LFS pointer/);
  });
});

describe('a folder above runs', () => {
  const state = (reward: number) =>
    JSON.stringify({ logging_steps: 1, max_steps: 9, log_history: rows.map((row) => ({ ...row, reward })) });

  it('lists them, each with its name', async () => {
    const folder = folderOf({
      'sweep/a/checkpoint-3/trainer_state.json': state(0.5),
      'sweep/b/checkpoint-3/trainer_state.json': state(0.75),
      'sweep/b/checkpoint-3/tokenizer.json': '{}',
      'notes.md': 'x',
    });
    const reading = await readRun(folder);
    expect(reading.kind).toBe('folder of 2 runs');
    expect(reading.runs!.map(({ name }) => name)).toEqual([join('sweep', 'a'), join('sweep', 'b')]);
    expect(column(await reading.runs![1]!.read(), 'reward')).toEqual([0.75, 0.75, 0.75]);
  });

  it('with one is that run, with the completions beside its metrics', async () => {
    const completions = rows.map(({ step }) => ({ step, prompt: 'p', completion: 'c', reward: 1 }));
    const folder = folderOf({ 'out/log.jsonl': lines(rows), 'out/samples.jsonl': lines(completions) });
    const reading = await readRun(folder);
    expect(steps(reading)).toEqual([1, 2, 3]);
    expect([...reading.completions!]).toHaveLength(3);
    expect(reading.notes.join(' ')).toContain(`Read from ${join('out', 'log.jsonl')}`);
  });
});

describe('completions in files per step', () => {
  it('are verl’s dumps', async () => {
    const row = (step: number, score: number) => ({ input: `p${score}`, output: 'c', score, step });
    const folder = folderOf({
      '2.jsonl': lines([row(2, 0)]),
      '10.jsonl': lines([row(10, 1), row(10, 0)]),
    });
    const reading = await readRun(folder);
    expect([...reading.records!].map(({ step }) => step)).toEqual([2, 10]);
    expect([...reading.records!][1]!.rewards!.totals).toEqual(Float64Array.of(1, 0));
  });

  it('are prime-rl’s exports of tokens, of several ranks', async () => {
    const row = (reward: number) => ({
      schema_version: 1,
      step: 3,
      token_ids: [5, 6, 7, 8],
      loss_mask: [false, false, true, true],
      inference_logprobs: [0, 0, -1, -2],
      trainer_logprobs: [0, 0, -1.5, -2],
      rewards: [reward, reward, reward, reward],
      advantages: [null, null, 0.5, 0.5],
    });
    const reading = await readRun(
      folderOf({ 'step_3/rank_0.jsonl': lines([row(1)]), 'step_3/rank_1.jsonl': lines([row(0)]) }),
    );
    const [record] = [...reading.records!];
    expect(record!.completions!.ids).toEqual(Int32Array.of(7, 8, 7, 8));
    expect(record!.completions!.samplerLogprobs).toEqual(Float32Array.of(-1, -2, -1, -2));
    expect(record!.rewards!.totals).toEqual(Float64Array.of(1, 0));
    expect(record!.advantages).toEqual(Float64Array.of(0.5, 0.5));
  });
});

describe('rows of trackers', () => {
  it.each([
    [
      'SkyRL',
      {
        'trainer/global_step': 3,
        'reward/avg_raw_reward': 0.5,
        'loss/avg_final_rewards': 0.4,
        'policy/final_loss': 0.1,
        'policy/policy_loss': 0.2,
        'policy/policy_kl': 0.3,
        'policy/raw_grad_norm': 0.6,
        'generate/avg_num_tokens': 300,
      },
      {
        reward: 0.5,
        loss: 0.1,
        policy_loss: 0.2,
        kl: 0.3,
        grad_norm: 0.6,
        'completions/mean_length': 300,
      },
    ],
    [
      'open-instruct',
      {
        training_step: 3,
        'objective/verifiable_reward': 0,
        'objective/kl_avg': 0.3,
        'optim/grad_norm': 0.6,
        'val/stop_rate': 0.75,
        'val/sequence_lengths': 300,
        'loss/total_avg': 0.1,
        scores: 0.5,
      },
      {
        reward: 0.5,
        'rewards/verifiable/mean': 0,
        loss: 0.1,
        kl: 0.3,
        grad_norm: 0.6,
        'completions/mean_length': 300,
        'completions/clipped_ratio': 0.25,
      },
    ],
    [
      'TRL PPO',
      {
        episode: 3,
        'objective/kl': 21.6,
        'objective/non_score_reward': -1.1,
        'objective/rlhf_reward': -2.4,
        'objective/scores': -1.35,
        'policy/approxkl_avg': 26.3,
        'policy/entropy_avg': 7.5,
        'loss/policy_avg': 0.34,
        'val/ratio': 0.00093,
        'val/num_eos_tokens': 0,
        lr: 0.0001,
      },
      {
        reward: -1.35,
        'kl/old': 26.3,
        entropy: 7.5,
        learning_rate: 0.0001,
        'completions/clipped_ratio': 1,
        'val/ratio': 0.00093,
      },
    ],
    [
      'AReaL',
      { step: 3, 'grpo_actor/task_reward/avg': 0.5, 'grpo_actor/update/grad_norm': 0.6 },
      { reward: 0.5, grad_norm: 0.6 },
    ],
  ])('are %s’s', async (name, row, values) => {
    const reading = await readText('m.jsonl', lines([row]));
    expect(reading.kind).toBe(`${name} metrics, JSON Lines`);
    expect(steps(reading)).toEqual([3]);
    expect(reading.series!.entries[0]!.values).toMatchObject(values);
  });

  it('whose names nobody knows are not said to be of supervised training', async () => {
    const rows = [1, 2].map((step) => ({ step, loss: 0.1, 'x/solver_reward_q': 0.2, 'x/kl_to_base': 0.3 }));
    const { notes, isGrpo } = await readText('m.jsonl', lines(rows));
    expect(isGrpo).toBe(false);
    expect(notes[0]).toContain('though x/solver_reward_q, x/kl_to_base may be');
    const plain = await readText('m.jsonl', lines([1, 2].map((step) => ({ step, loss: 0.1 }))));
    expect(plain.notes[0]).toContain('looks like supervised training');
  });
});

describe('training of another kind', () => {
  it.each([
    ['DPO', { 'rewards/chosen': 1, 'rewards/rejected': 0 }, /preference training on pairs/],
    ['PPO', { reward: 1, value_loss: 0.5 }, /PPO with a value function/],
    ['PPO, in words', { Reward: 1, 'Critic Loss': 0.5 }, /PPO with a value function/],
  ])('is named: %s', async (_, more, message) => {
    const reading = await readText('m.jsonl', lines([1, 2].map((step) => ({ step, loss: 0.1, ...more }))));
    expect(reading.isGrpo).toBe(false);
    expect(reading.notes[0]).toMatch(message);
  });
});

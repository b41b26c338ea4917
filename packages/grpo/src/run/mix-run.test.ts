/** Fairness, hallucination and both: whole runs on a tiny model and made-up rows. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { resolveConfig } from '../config/index.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { writeRandomWeights } from '../models/index.js';
import type { MetricsRow } from '../observe/metrics.js';
import { writeArithmeticModelFiles } from '../tasks/arithmetic/arithmetic-model.js';
import { bbqRows, writeRows } from '../tasks/fairness/sample.test.helper.js';
import { haluevalRows } from '../tasks/hallucination/sample.test.helper.js';
import { openRun } from './open-run.js';
import { remainsOf } from './run.test.helper.js';
import { trainGrpo } from './train-grpo.js';
import { trainSft } from './train-sft.js';

/** Long enough a window for the prompts. */
async function modelFolder(): Promise<string> {
  const dir = join(tempFolder(), 'model');
  const size = { hiddenSize: 16, heads: 2, layers: 1, intermediateSize: 32, maxLength: 1024 };
  await writeArithmeticModelFiles(dir, size);
  writeRandomWeights(dir, 1);
  return dir;
}

async function files() {
  const folder = tempFolder();
  return {
    bbq: writeRows(join(folder, 'bbq.jsonl'), bbqRows()),
    halueval: writeRows(join(folder, 'halueval.json'), haluevalRows()),
    model: await modelFolder(),
  };
}

const SMALL = [
  'task.evalSize=6',
  'eval.limit=2',
  'rollout.prompts=2',
  'rollout.group=3',
  'rollout.maxNewTokens=8',
  'optimizer.learningRate=0.003',
  'threads=1',
  'device=cpu',
];

async function run(settings: readonly string[], { resume = false, stopAfter = 0 } = {}) {
  const interrupt = new AbortController();
  const rows: MetricsRow[] = [];
  const notes: string[] = [];
  await using session = await openRun(
    resolveConfig({ command: 'train', settings: [...SMALL, ...settings] }),
    {
      resume,
      signal: interrupt.signal,
      watcher: {
        step(row) {
          rows.push(row);
          if (row.step === stopAfter) interrupt.abort();
        },
        note: (text) => notes.push(text),
      },
    },
  );
  // What a model without any training writes cannot be read, and earns the same throughout.
  const rewards = session.task.rewards.map((reward) => ({
    ...reward,
    score: async (batch: Parameters<typeof reward.score>[0]) =>
      reward.score({ ...batch, completions: batch.completions.map(readable) }),
  }));
  const { task } = session;
  await trainGrpo(Object.assign(session, { task: { ...task, rewards } }));
  return { rows, notes, path: session.folder.path };
}

/** A completion with an answer that follows from its letters. */
const readable = (text: string) => {
  const sum = [...text].reduce((total, char) => total + char.charCodeAt(0), 0);
  return `Answer: ${['A', 'B', 'C', 'yes', 'no'][sum % 5]}\nJustification: ${text}`;
};

function expectHealthy(rows: readonly MetricsRow[], reward: string): void {
  expect(rows).toHaveLength(20);
  for (const row of rows) {
    expect(Number.isFinite(row.loss) && Number.isFinite(row.grad_norm)).toBe(true);
    expect(row.reward_failures).toBe(0);
    expect(Math.abs(row[`rewards/${reward}/mean`]!)).toBeLessThanOrEqual(1);
  }
  expect(new Set(rows.map((row) => row[`rewards/${reward}/mean`])).size).toBeGreaterThan(1);
}

const lastRow = (path: string) =>
  JSON.parse(readFileSync(join(path, 'completions.jsonl'), 'utf8').trimEnd().split('\n').at(-1)!) as object;

describe('20 steps', () => {
  it.each([
    ['bbq', 'fairness', 'choice'],
    ['halueval', 'hallucination', 'readable'],
  ] as const)('of %s', async (name, reward, part) => {
    const made = await files();
    const output = join(tempFolder(), 'run');
    const settings = [
      `model=${made.model}`,
      `task.name=${name}`,
      `task.data=${made[name]}`,
      `output=${output}`,
    ];
    const { rows, path } = await run([...settings, 'train.steps=20', 'doctor.onFinding=off']);
    expectHealthy(rows, reward);
    expect(JSON.stringify(lastRow(path))).toContain(`"rewards":{"${reward}":`);
    expect(rows.some((row) => `rewards/${reward}/${part}/mean` in row)).toBe(true);
  });

  it('of both, a share each, with a β and a KL of its own', async () => {
    const made = await files();
    const output = join(tempFolder(), 'run');
    const mix = `task.mix=[{name: bbq, data: ${made.bbq}, share: 2}, {name: halueval, data: ${made.halueval}}]`;
    const settings = ['task.name=mix', mix, `model=${made.model}`, `output=${output}`];
    const control = ['kl.beta=0.05', 'kl.control=lagrangian', 'kl.target=0.001', 'train.kindGradients=5'];
    const { rows, notes, path } = await run([...settings, ...control, 'rollout.prompts=3', 'train.steps=20']);
    expectHealthy(rows, 'fairness');
    expectHealthy(rows, 'hallucination');
    const last = rows.at(-1)!;
    expect(last['beta/bbq']).not.toBe(last['beta/halueval']);
    for (const name of [
      'kl',
      'reward',
      'reward_std',
      'completions/mean_length',
      'completions/clipped_ratio',
      'signal',
    ])
      for (const kind of ['bbq', 'halueval']) expect(last, name).toHaveProperty([`${name}/${kind}`]);
    expect(rows.filter((row) => 'grad_norm/bbq' in row).map(({ step }) => step)).toEqual([1, 6, 11, 16]);
    const asked = readFileSync(join(path, 'completions.jsonl'), 'utf8').trimEnd().split('\n');
    const isFair = asked.map((line) =>
      (JSON.parse(line) as { prompt_text: string }).prompt_text.startsWith('Context:'),
    );
    for (let step = 0; step < 20; step++)
      expect(isFair.slice(9 * step, 9 * step + 9).filter(Boolean)).toHaveLength(6);
    // Nothing that must hold is found not to.
    expect(notes.filter((text) => /fail/i.test(text))).toEqual([]);
  });

  it('of both go on after a stop as if there had been none', async () => {
    const made = await files();
    const root = tempFolder();
    const mix = `task.mix=[{name: bbq, data: ${made.bbq}, share: 2}, {name: halueval, data: ${made.halueval}}]`;
    const settings = (output: string) => [
      ...['task.name=mix', mix, `model=${made.model}`, `output=${join(root, output)}`, 'train.steps=8'],
      ...[
        'kl.beta=0.05',
        'kl.control=lagrangian',
        'kl.target=0.001',
        'train.kindGradients=3',
        'checkpoint.every=2',
        'doctor.onFinding=off',
      ],
    ];
    await run(settings('whole'));
    await run(settings('stopped'), { stopAfter: 3 });
    await run(settings('stopped'), { resume: true });
    expect(remainsOf(join(root, 'stopped'))).toEqual(remainsOf(join(root, 'whole')));
  });
});

it('the demonstrations of both are imitated', async () => {
  const made = await files();
  const mix = `task.mix=[{name: bbq, data: ${made.bbq}}, {name: halueval, data: ${made.halueval}}]`;
  const config = resolveConfig({
    command: 'sft',
    settings: [
      ...[
        'task.name=mix',
        mix,
        `model=${made.model}`,
        `output=${join(tempFolder(), 'sft')}`,
        'task.evalSize=6',
      ],
      ...[
        'eval.limit=2',
        'rollout.maxNewTokens=8',
        'sft.steps=20',
        'sft.batchSize=2',
        'sft.learningRate=0.01',
        'threads=1',
      ],
    ],
  });
  const losses: number[] = [];
  await using session = await openRun(config, { watcher: { step: ({ loss }) => losses.push(loss!) } });
  await trainSft(session);
  expect(losses.at(-1)).toBeLessThan(losses[0]! - 0.5);
});

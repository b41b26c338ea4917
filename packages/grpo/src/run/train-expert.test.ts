import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AdamW } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import type { Example } from '../imitation/examples.js';
import { sftStep } from '../imitation/sft.js';
import { permutation } from '../maths/random.js';
import type { MetricsRow } from '../observe/metrics.js';
import { type Stages, stages } from '../step/stages.js';
import { rewarding, weightsOf } from '../step/step.test.helper.js';
import { openRun } from './open-run.js';
import { resolvedRun, run } from './run.test.helper.js';
import { tinyModelFolder } from './tiny-model.test.helper.js';
import { trainExpert } from './train-expert.js';

const FAST = ['sft.learningRate=0.02', 'rollout.prompts=4', 'rollout.group=8', 'expert.iterations=6'];

/** A run on the tiny model, whose score stage is given. */
async function expert(score: Stages['score'], ...settings: string[]) {
  const output = join(tempFolder(), 'run');
  const model = await tinyModelFolder();
  const all = [...FAST, `model=${model}`, 'expert.threshold=0.6', 'eval.before=false', ...settings];
  const resolved = resolvedRun({ command: 'expert', output, settings: all });
  const rows: MetricsRow[] = [];
  const notes: string[] = [];
  const watcher = { step: (row: MetricsRow) => rows.push(row), note: (text: string) => notes.push(text) };
  await using session = await openRun(resolved, { watcher });
  const end = await trainExpert(session, { score });
  const text = readFileSync(join(output, 'completions.jsonl'), 'utf8');
  const completions = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { step: number; kept: boolean; reward: number });
  return { end, rows, notes, completions, output };
}

const evenTokens = rewarding((_, { ids }) => ids.filter((id) => id % 2 === 0).length / ids.length);

describe('expert iteration', () => {
  it('earns more of the reward by which it keeps', async () => {
    const { rows, notes, completions } = await expert(evenTokens, 'expert.epochs=2');
    const rewards = rows.map(({ reward }) => reward!);
    expect(rewards[0]).toBeLessThan(0.65);
    expect(rewards.at(-1)).toBeGreaterThan(0.85);
    expect(notes).toEqual([]);
    for (const row of rows) {
      const own = completions.filter(({ step }) => step === row.step);
      expect(own).toHaveLength(32);
      const kept = own.filter((one) => one.kept);
      expect(kept.every(({ reward }) => reward >= 0.6)).toBe(true);
      // Batches of 2, for 2 epochs.
      expect(row).toMatchObject({ kept: kept.length, updates: 2 * Math.ceil(kept.length / 2) });
      expect(row.kept_mean_length).toBeGreaterThan(0);
      expect(row.loss).toBeGreaterThan(0);
      expect(row.entropy).toBeGreaterThan(0);
      expect(row.grad_norm).toBeGreaterThan(0);
    }
  });

  it('samples in its first round what GRPO samples in its first step', async () => {
    const root = tempFolder();
    const settings = [`model=${await tinyModelFolder()}`, 'rollout.prompts=3', 'rollout.group=4'];
    const texts = [];
    for (const command of ['train', 'expert'] as const) {
      const output = join(root, command);
      const extra = command === 'expert' ? ['expert.threshold=0'] : [];
      await run({ command, output, settings: [...settings, ...extra], stopAfter: 1 });
      const lines = readFileSync(join(output, 'completions.jsonl'), 'utf8').trim().split('\n');
      texts.push(lines.map((line) => (JSON.parse(line) as { completion: string }).completion));
    }
    expect(texts[0]).toHaveLength(12);
    expect(texts[1]).toEqual(texts[0]);
  });

  it('imitates the kept completions, each after its own prompt, in a new order every epoch', async () => {
    const output = join(tempFolder(), 'run');
    const sizes = ['rollout.prompts=3', 'rollout.group=2', 'sft.batchSize=2', 'sft.learningRate=0.01'];
    const settings = [...sizes, `model=${await tinyModelFolder()}`, 'expert.threshold=1', 'expert.epochs=2'];
    const resolved = resolvedRun({
      command: 'expert',
      output,
      settings: [...settings, 'expert.iterations=1'],
    });
    await using session = await openRun(resolved);
    const { config, model } = session;
    const untrained = model.decoder.clone();
    onTestFinished(() => untrained.dispose());
    const sampled: Example[] = [];
    const sample: Stages['sample'] = async (...args) => {
      const groups = await stages.sample(...args);
      for (const [p, { ids }] of args[1].entries())
        for (const one of groups[p]!) sampled.push({ prompt: [...ids], completion: [...one.ids] });
      return groups;
    };
    await trainExpert(session, { sample, score: rewarding((b) => (b === 2 ? 0 : 1)) });

    const kept = sampled.filter((_, b) => b !== 2);
    expect(new Set(kept.map(({ prompt }) => String(prompt))).size).toBe(3);
    for (const parameter of untrained.parameters.values()) parameter.requiresGrad = true;
    const optimizer = new AdamW(untrained.trainable, config.optimizer);
    onTestFinished(() => optimizer.dispose());
    const options = { learningRate: 0.01, maxGradNorm: config.optimizer.maxGradNorm };
    for (const epoch of [0, 1]) {
      const order = permutation(kept.length, config.seed, 0, epoch).map((i) => kept[i]!);
      for (const batch of [order.slice(0, 2), order.slice(2, 4), order.slice(4)])
        await sftStep({ ...model, decoder: untrained }, optimizer, batch, {
          ...options,
          microBatchTokens: 4096,
        });
    }
    expect(weightsOf(model.decoder)).toEqual(weightsOf(untrained));
  });

  it('says so when a round keeps nothing, and goes on', async () => {
    let round = 0;
    const score: Stages['score'] = (...args) => rewarding(() => (round++ < 32 ? 0.25 : 1))(...args);
    const { end, rows, notes, completions, output } = await expert(score, 'expert.iterations=2');
    expect(end.interrupted).toBe(false);
    expect(rows[0]).toMatchObject({ kept: 0, kept_problems: 0, updates: 0, reward: 0.25 });
    for (const field of ['loss', 'grad_norm', 'entropy', 'kept_mean_length'])
      expect(rows[0]).not.toHaveProperty(field);
    expect(rows[1]!.kept_problems).toBe(1);
    expect(notes).toEqual([
      expect.stringMatching(
        /^step 1: nothing kept, so nothing learnt: none of the 32 completions has a reward of 0\.6 or more; the highest reward is 0\.250, and (1 is|\d+ are) cut at rollout\.maxNewTokens/,
      ),
    ]);
    expect(completions.filter(({ step }) => step === 1).some(({ kept }) => kept)).toBe(false);
    // NaN or null in the file would be a made-up value.
    expect(readFileSync(join(output, 'metrics.jsonl'), 'utf8')).not.toMatch(/NaN|null/);
  });

  it('does not imitate a completion whose reward failed', async () => {
    const { rows } = await expert(
      rewarding((b) => (b % 2 ? Number.NaN : 1)),
      'expert.iterations=1',
    );
    expect(rows[0]!.kept).toBe(16);
  });

  it('must be told what is good where the task cannot tell', async () => {
    const output = join(tempFolder(), 'run');
    const resolved = resolvedRun({
      command: 'expert',
      output,
      settings: [`model=${await tinyModelFolder()}`],
    });
    await using session = await openRun(resolved);
    const { isCorrect: _, ...task } = session.task;
    await expect(trainExpert({ ...session, task })).rejects.toThrow(
      'the task arithmetic cannot tell a right completion from a wrong one',
    );
  });
});

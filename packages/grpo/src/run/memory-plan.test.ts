import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { memory } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readRecord } from '../config/index.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import type { Estimate } from '../memory/estimate.js';
import { checkpointBytes, holdingsOf } from '../memory/holdings.js';
import { auditLack, memoryLine } from '../memory/memory-lines.js';
import { readModelFolder } from '../models/index.js';
import { checkpointBytes as bytesOfCheckpoint } from './folder/checkpoint.js';
import { planMemory } from './memory-plan.js';
import { openRun } from './open-run.js';
import { remainsOf, resolvedRun, run } from './run.test.helper.js';
import { PROCESS_MB, tinyModelFolder } from './tiny-model.test.helper.js';

const opened = async (...settings: string[]) => {
  const model = await tinyModelFolder();
  const output = join(tempFolder(), 'run');
  const session = await openRun(resolvedRun({ output, settings: [`model=${model}`, ...settings] }));
  onTestFinished(() => session[Symbol.asyncDispose]());
  return { session, values: readRecord(output).values };
};

describe('what is held', () => {
  it.each([
    ['float32', 0],
    ['bfloat16', 0],
    ['bfloat16', 4],
  ])('in %s with adapters of rank %d is what the plan says', async (dtype, rank) => {
    const before = memory().bytes;
    const { session } = await opened(`dtype=${dtype}`, `lora.rank=${rank}`);
    const { model, optimizer } = session;
    const { decoder } = model;
    const adapters = [...(decoder.lora?.parameters.values() ?? [])].reduce(
      (sum, { numel }) => sum + numel,
      0,
    );
    const trained = rank > 0 ? { adapters } : 'weights';
    const size = dtype === 'bfloat16' ? 2 : 4;
    const { gradients, ...held } = holdingsOf(decoder.config, size, trained, undefined);
    const sum = Object.values(held).reduce((a, b) => a + b, 0);
    // Rotary frequencies and the optimizer's counters are a few numbers each.
    expect(memory().bytes - before - sum).toBeGreaterThanOrEqual(0);
    expect(memory().bytes - before - sum).toBeLessThan(3000);
    expect(gradients).toBe(4 * [...decoder.trainable.values()].reduce((all, { numel }) => all + numel, 0));
    const files = [...model.files.values()].reduce((all, { length }) => all + length, 0);
    const onDisk = bytesOfCheckpoint(model, optimizer, undefined) - files;
    const counters = 4 * decoder.trainable.size;
    expect(onDisk).toBe(checkpointBytes(decoder.config, size, trained) + counters);
  });
});

describe('a budget', () => {
  it('stands in the record as bytes, with where they come from', async () => {
    expect((await opened('memory=3GB')).values.memory).toEqual({ value: 3e9, source: 'command line' });
    const { value, source } = (await opened()).values.memory!;
    expect(value).toBeGreaterThan(1e8);
    expect(source).toMatch(/^auto: 90 % of /);
  });

  it('holds lots and micro-batches to what it leaves, and activations to theirs', async () => {
    const roomy = await opened('memory=3GB', 'train.microBatchTokens=100000');
    expect(roomy.session.config.train).toMatchObject({ microBatchTokens: 100_000 });
    const tight = await opened(`memory=${PROCESS_MB + 15}MB`, 'train.microBatchTokens=100000');
    expect(tight.session.config.train.microBatchTokens).toBeLessThan(2000);
    expect(tight.session.activationRoom).toBeLessThan(15e6);
    expect(tight.session.sampling.lotBytes).toBeLessThan(roomy.session.sampling.lotBytes);
    // What was asked for stays in the record, so that the resumed run comes to the same.
    expect(tight.values['train.microBatchTokens']!.value).toBe(100_000);
  });

  it('that is too small ends the run before it begins', async () => {
    await expect(opened('memory=100MB')).rejects.toThrow(
      new RegExp(
        `^this run needs about \\d+ MB, and memory allows 100 MB \\(command line\\): most in \\w+: process ${PROCESS_MB} MB`,
      ),
    );
  });
});

it('the passes of a masked-diffusion model take what its estimates compute', () => {
  const model = fileURLToPath(new URL('../../../../parity/fixtures/models/a2d-qwen2', import.meta.url));
  const problems = [{ prompt: '2+2=', row: {} }];
  const activations = (estimator: string) => {
    const settings = [`model=${model}`, `diffusion.estimator=${estimator}`, 'memory=9GB', 'rollout.group=8'];
    const long = [...settings, 'rollout.maxNewTokens=64', 'train.microBatchTokens=100000'];
    const resolved = resolvedRun({ output: join(tempFolder(), 'run'), settings: long });
    const plan = planMemory(resolved, readModelFolder(model), { train: problems, eval: problems });
    const training = plan.phases.find(({ name }) => name === 'training');
    return training!.parts.find(({ name }) => name === 'activations')!.bytes;
  };
  const [d1, sumMasked, coupled] = ['d1', 'sum_masked', 'coupled'].map(activations) as [
    number,
    number,
    number,
  ];
  expect(sumMasked).toBeGreaterThan(2 * d1);
  // 1, 8 and 17 passes over a group of 8: 9 more take at least 9 / 7 of what 7 more take.
  expect(coupled - sumMasked).toBeGreaterThan((9 / 7) * (sumMasked - d1) - 1);
});

it.each([
  ['kl.kindKey=kind train.kindGradients=2', 2],
  ['kl.kindKey=kind', 0],
])('with %s %d copies of the gradients are planned for three kinds of problems', async (settings, copies) => {
  const model = await tinyModelFolder();
  const problems = ['a', 'b', 'c', 'a'].map((kind) => ({ prompt: '2+2=', row: { kind } }));
  const own = [`model=${model}`, 'memory=9GB', 'rollout.prompts=4', 'objective.minibatches=1'];
  const resolved = resolvedRun({
    output: join(tempFolder(), 'run'),
    settings: [...own, ...settings.split(' ')],
  });
  const shape = readModelFolder(model);
  const plan = planMemory(resolved, shape, { train: problems, eval: problems });
  const { parts } = plan.phases.find(({ name }) => name === 'training')!;
  const { gradients } = holdingsOf(shape.config, 4, 'weights', undefined);
  const planned = parts.find(({ name }) => name === 'gradients of kinds')?.bytes ?? 0;
  expect(planned).toBe(copies * gradients);
});

describe('a model of half a billion weights', () => {
  const shape = (folder: string) => ({
    ...readModelFolder(folder),
    config: {
      ...readModelFolder(folder).config,
      ...{ vocabSize: 151_936, hiddenSize: 896, intermediateSize: 4864, layers: 24 },
      ...{ heads: 14, kvHeads: 2, headDim: 64, maxPositions: 32_768 },
    },
  });
  const planned = async (...settings: string[]) => {
    const folder = await tinyModelFolder();
    const resolved = resolvedRun({ output: tempFolder(), settings: [`model=${folder}`, ...settings] });
    const task = { train: [{ prompt: '1 + 2 =', row: {} }], eval: [{ prompt: '2 + 3 =', row: {} }] };
    return planMemory(resolved, shape(folder), task);
  };

  it('is refused with the settings that would fit', async () => {
    await expect(planned('memory=8GB')).rejects.toMatchObject({
      message: expect.stringMatching(/^this run needs about 8\.\d GB, and memory allows 8\.0 GB/),
      hint: 'It would fit with one of: lora.rank=16, dtype=bfloat16 lora.rank=16.',
    });
  });

  it('is told that memory has no room for a second computation, where there are audits', async () => {
    const long = [
      'memory=11.4GB',
      'dtype=bfloat16',
      'rollout.maxNewTokens=4096',
      'train.microBatchTokens=64',
    ];
    const lineOf = (plan: Estimate) => memoryLine(plan, { bytes: 11.4e9, source: 'command line' });
    const plan = await planned(...long);
    expect(auditLack(plan)).toMatch(
      /^[\d.]+ GB of memory for a second computation \(memory leaves [\d.]+ [MG]B\)$/,
    );
    expect(lineOf(plan)).toContain(`. The audit is left without ${auditLack(plan)}.`);
    for (const other of ['doctor.every=0', 'rollout.maxNewTokens=64']) {
      const fitting = await planned(...long, other);
      expect(auditLack(fitting)).toBeUndefined();
      expect(lineOf(fitting)).not.toContain('left without');
      expect(fitting.phases.some(({ name }) => name === 'audit')).toBe(other !== 'doctor.every=0');
    }
  });

  it('fits by computing activations again, unless that is forbidden', async () => {
    const long = ['memory=12GB', 'dtype=bfloat16', 'rollout.maxNewTokens=4096'];
    expect((await planned(...long)).peak).toBeLessThan(12e9);
    await expect(planned(...long, 'train.recompute=none')).rejects.toMatchObject({
      hint: expect.stringContaining('train.recompute=layers'),
    });
  });
});

/** A process that holds so many bytes, written to. */
async function holding(bytes: number): Promise<ChildProcess> {
  const code = `const held = Buffer.alloc(${bytes}, 1); console.log('held'); setInterval(() => held[0]++, 1000);`;
  const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout!, 'data');
  return child;
}

it('a run that is resumed beside a process that holds memory is the run that was never stopped', async () => {
  const root = tempFolder();
  const model = await tinyModelFolder();
  const settings = [`model=${model}`, 'checkpoint.every=3', 'train.microBatchTokens=30', 'dtype=bfloat16'];
  const whole = { output: join(root, 'whole'), settings };
  const stopped = { output: join(root, 'stopped'), settings };
  await run(whole);
  await run({ ...stopped, stopAfter: 3 });
  const child = await holding(3e8);
  try {
    await run({ ...stopped, resume: true });
  } finally {
    child.kill();
  }
  expect(remainsOf(stopped.output)).toEqual(remainsOf(whole.output));
  expect(readRecord(stopped.output).values.memory).toEqual(readRecord(whole.output).values.memory);
});

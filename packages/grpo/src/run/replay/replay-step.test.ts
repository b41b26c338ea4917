import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { memory } from '@grpo/torch';
import { beforeAll, describe, expect, it } from 'vitest';
import { objectLayer } from '../../config/index.js';
import { sharedFolder } from '../../formats/temp-folder.test.helper.js';
import type { StepRecord } from '../../trace/index.js';
import { compareSteps } from '../../view/compare-steps.js';
import { readStep } from '../../view/read-step.js';
import { run } from '../run.test.helper.js';
import type { ModelReplay } from './replay-model.js';
import { replayStep } from './replay-step.js';

const folder = sharedFolder();
const output = join(folder, 'run');
const AT = 3;
let record: StepRecord;

beforeAll(async () => {
  await run({
    output,
    settings: [
      'train.steps=4',
      'kl.beta=0.2',
      'rollout.group=4',
      'rollout.prompts=3',
      'optimizer.learningRate=1e-2',
      'record.every=1',
      'checkpoint.every=1',
      'checkpoint.keep=9',
      'eval.before=false',
      'eval.limit=1',
    ],
  });
  record = await readStep(output, AT);
});

/** Norms above 1 round in proportion: float32 has seven digits. */
const expectNorm = (norm: number, expected: number) =>
  expect(Math.abs(norm - expected)).toBeLessThan(5e-7 * Math.max(1, expected));

async function replayed(settings: object, at = record, path = output): Promise<ModelReplay> {
  const { model } = await replayStep(path, at, objectLayer('the test', settings));
  if (typeof model === 'string') throw new Error(model);
  return model;
}

it('a record of what was declared alone has nothing to replay', async () => {
  const { step, declared } = record;
  const head = { step, declared } as StepRecord;
  const { model } = await replayStep(output, head, objectLayer('the test', {}));
  expect(model).toBe('the record has no rollout');
});

describe('a step replayed with the weights that took it', () => {
  it('is the step with its own settings, its gradient included, and leaves nothing behind', async () => {
    const live = memory();
    const { gap, record: again, gradient } = await replayed({});
    expect(memory()).toEqual(live);
    expect(gap.max).toBeLessThan(1e-5);
    const { difference, compared } = compareSteps(record, again);
    expect(difference).toBeUndefined();
    expect(compared.map(({ quantity }) => quantity)).toEqual(
      expect.arrayContaining(['terms of the KL', 'norm of the gradient', 'norms of the gradient by group']),
    );
    expect(gradient.all.norm).toBeCloseTo(record.updates![0]!.gradNorm!, 6);
  });

  it('splits the gradient into that of the policy and that of the KL', async () => {
    const { gradient } = await replayed({});
    // The same parts by another way: a loss that has but one of them.
    const policy = await replayed({ kl: { beta: 0 } });
    const kl = await replayed({ advantage: { clip: 1e-9 } });
    for (const [part, alone] of [
      [gradient.policy, policy.gradient.all],
      [gradient.kl!, kl.gradient.all],
    ] as const) {
      expectNorm(part.norm, alone.norm);
      expect(part.norm).toBeGreaterThan(1e-3);
      for (const [name, norm] of Object.entries(part.groups)) expectNorm(norm, alone.groups[name]!);
    }
  });

  it('has the KL over the whole vocabulary, which is 0 where policy and reference are one', async () => {
    const [first, later] = [await replayed({}, await readStep(output, 1)), await replayed({})];
    expect(Math.abs(first.fullKl!)).toBeLessThan(1e-6);
    expect(later.fullKl).toBeGreaterThan(1e-4);
    const full = await replayed({ kl: { estimator: 'full' } });
    const terms = full.record.updates![0]!.klTerms!;
    expect(terms.reduce((a, b) => a + b) / terms.length).toBeCloseTo(later.fullKl!, 6);
  });

  it('shows that the row before a token predicts it, and no other', async () => {
    const { boundary = [] } = await replayed({});
    const prompt = record.prompts!.lengths![0]!;
    const recorded = record.updates![0]!.policyLogprobs!;
    const length = record.completions!.lengths![0]!;
    expect(boundary.map(({ row }) => row)).toEqual([prompt - 2, prompt - 1, prompt, prompt + length - 2]);
    for (const { row, logprob, before, after } of boundary.slice(1)) {
      expect(logprob).toBeCloseTo(recorded[row + 1 - prompt]!, 4);
      for (const shifted of [before, after])
        if (shifted !== undefined) expect(Math.abs(shifted - logprob)).toBeGreaterThan(1e-3);
    }
  });
});

it('a truncated step is replayed over the ids that sampling kept', async () => {
  const output = join(folder, 'truncated');
  await run({
    output,
    settings: [
      ...[
        'train.steps=2',
        'rollout.topP=0.7',
        'kl.beta=0.2',
        'rollout.group=4',
        'optimizer.learningRate=1e-2',
      ],
      ...['record.every=1', 'checkpoint.every=1', 'eval.before=false', 'eval.limit=1', 'doctor.every=0'],
    ],
  });
  const own = await readStep(output, 2);
  expect(own.completions!.support!.sizes!.every((size) => size > 0)).toBe(true);
  const { gap, record: again } = await replayed({}, own, output);
  expect(gap.max).toBeLessThan(1e-5);
  expect(compareSteps(own, again).difference).toBeUndefined();
  expect(again.completions!.support).toEqual(own.completions!.support);
});

describe('a step of a masked-diffusion model', () => {
  it('is replayed with its own mask plans, and with another KL', async () => {
    const output = join(folder, 'masked');
    const model = fileURLToPath(new URL('../../../../../parity/fixtures/models/a2d-qwen2', import.meta.url));
    await run({
      output,
      settings: [
        ...[`model=${model}`, 'diffusion.estimator=coupled', 'diffusion.steps=2', 'train.steps=2'],
        ...['kl.beta=0.2', 'objective.iterations=2', 'objective.oldLogprobs=recompute'],
        ...['rollout.group=4', 'optimizer.learningRate=1e-2', 'record.every=1', 'checkpoint.every=1'],
        ...['eval.before=false', 'eval.limit=1', 'doctor.every=0'],
      ],
    });
    const own = await readStep(output, 2);
    const { gap, record: again, gradient, boundary } = await replayed({}, own, output);
    expect(gap.max).toBeLessThan(1e-5);
    expect(again.diffusion!.plans![0]).toMatchObject({ weights: own.diffusion!.plans![0]!.weights });
    expect(gradient.all.norm).toBeCloseTo(own.updates![0]!.gradNorm!, 5);
    expect(boundary).toBeUndefined();
    const free = await replayed({ kl: { beta: 0.4 } }, own, output);
    expect(free.gradient.kl!.norm).toBeCloseTo(2 * gradient.kl!.norm, 5);
  });
});

it('has the updates after the first by the recorded log-probs', async () => {
  const own = join(folder, 'several');
  await run({
    output: own,
    settings: [
      ...['train.steps=1', 'kl.beta=0.2', 'objective.iterations=2', 'objective.oldLogprobs=recompute'],
      ...['optimizer.learningRate=1e-2', 'eval.before=false', 'eval.limit=1'],
    ],
  });
  const several = await readStep(own);
  const same = await replayStep(own, several, objectLayer('the test', {}));
  expect(typeof same.model).toBe('object');
  expect(compareSteps(several, same.replayed).difference).toBeUndefined();
  const narrow = await replayStep(own, several, objectLayer('the test', { objective: { clipLow: 1e-4 } }));
  const losses = (step: StepRecord) => step.updates!.map(({ loss }) => loss!);
  expect(losses(narrow.replayed)[0]).toBeCloseTo(losses(several)[0]!, 6);
  expect(Math.abs(losses(narrow.replayed)[1]! - losses(several)[1]!)).toBeGreaterThan(1e-4);
});

it('does without weights that are not there, and says so', async () => {
  const other = join(output, 'checkpoints', 'aside');
  renameSync(join(output, 'checkpoints', 'step-2'), other);
  const { model, replayed: own } = await replayStep(
    output,
    record,
    objectLayer('the test', { kl: { beta: 1 } }),
  );
  renameSync(other, join(output, 'checkpoints', 'step-2'));
  expect(model).toContain(
    'keeps no checkpoint of step 2, whose weights took step 3; it has those of 1, 3, 4',
  );
  expect(own.updates![0]!.beta).toBe(1);
});

it('refuses weights that are not those of the step', async () => {
  // Step 3, said to be step 2.
  const { model } = await replayStep(output, { ...record, step: 2 }, objectLayer('the test', {}));
  expect(model).toMatch(/step-1 are not those that took step 2: their log-probs lie up to \S+ nats/);
});

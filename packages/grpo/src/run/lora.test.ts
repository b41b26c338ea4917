import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { memory } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { type Decoder, loadModel } from '../models/index.js';
import { initLora } from '../models/lora/init-lora.js';
import { recordStep } from '../observe/record-step.js';
import { MovingReference } from '../step/moving-reference.js';
import { fixtureModel, PROBLEMS, spreadRewards, trainerOf, weightsOf } from '../step/step.test.helper.js';
import { openRun } from './open-run.js';
import { resolvedRun, run } from './run.test.helper.js';
import { tinyModelFolder } from './tiny-model.test.helper.js';

const lines = (...path: string[]) =>
  readFileSync(join(...path), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

/** A fixture model with fresh adapters, ready to train. */
function adapted(rank = 2) {
  const model = fixtureModel('llama3');
  for (const parameter of model.decoder.parameters.values()) parameter.requiresGrad = false;
  const settings = { rank, alpha: 2 * rank, base: 'base' };
  const decoder = model.decoder.withLora(
    initLora(model.decoder.config, settings, { seed: 1, device: 'cpu' }),
  );
  for (const parameter of decoder.trainable.values()) parameter.requiresGrad = true;
  onTestFinished(() => decoder.lora!.dispose());
  return { ...model, decoder };
}

const adaptersOf = (decoder: Decoder) => [...decoder.trainable.values()].map((p) => p.toNumbers());

describe('a GRPO step with adapters', () => {
  it('trains them and nothing else, against a reference that is the model without them', async () => {
    const model = adapted();
    const reference = model.decoder.withLora();
    const trainer = trainerOf(model, ['kl.beta=0.1', 'lora.rank=2'], { score: spreadRewards }, reference);
    const [weights, adapters] = [weightsOf(model.decoder), adaptersOf(model.decoder)];
    const first = await recordStep(trainer, PROBLEMS, 0, 1e-2);
    // Fresh adapters change nothing: the policy is the reference to the last bit, and the sampler's as ever.
    const { policyLogprobs, ratios } = first.updates[0]!;
    expect([...policyLogprobs!]).toEqual(first.batch.reference_B!.flatMap((own) => [...own]));
    expect(new Set(ratios)).toEqual(new Set([1]));
    expect(first.updates[0]!.zeroGradients).toBe(0);
    const second = await recordStep(trainer, PROBLEMS, 1, 1e-2);
    expect(second.metrics.kl).toBeGreaterThan(1e-4);
    expect(second.updates[0]!.zeroGradients).toBe(0);
    expect(weightsOf(model.decoder)).toEqual(weights);
    for (const [i, values] of adaptersOf(model.decoder).entries()) expect(values).not.toEqual(adapters[i]);
  });

  it('takes over the adapters whole where the reference moves', async () => {
    const model = adapted();
    const reference = model.decoder.withLora(model.decoder.lora!.clone());
    const settings = ['kl.beta=0.1', 'lora.rank=2', 'kl.referenceEvery=2', 'kl.referenceMix=1'];
    const trainer = trainerOf(model, settings, { score: spreadRewards }, reference);
    const movingReference = new MovingReference(reference, trainer);
    onTestFinished(() => {
      movingReference[Symbol.dispose]();
      reference.lora!.dispose();
    });
    await recordStep({ ...trainer, movingReference }, PROBLEMS, 0, 1e-2);
    expect(adaptersOf(reference)).not.toEqual(adaptersOf(model.decoder));
    await recordStep({ ...trainer, movingReference }, PROBLEMS, 1, 1e-2);
    expect(adaptersOf(reference)).toEqual(adaptersOf(model.decoder));
  });
});

describe('a run with adapters', () => {
  const live = async (settings: readonly string[]) => {
    const model = await tinyModelFolder();
    const { rows } = await run({
      output: join(tempFolder(), 'run'),
      settings: ['train.steps=2', `model=${model}`, ...settings],
    });
    const { live_bytes } = rows.at(-1)! as { live_bytes?: number };
    return live_bytes!;
  };

  it('has no second copy of the weights for its reference, and no optimizer state of theirs', async () => {
    const decoder = loadModel(await tinyModelFolder()).decoder;
    const weights = 4 * [...decoder.parameters.values()].reduce((sum, { numel }) => sum + numel, 0);
    decoder.dispose();
    const before = memory().bytes;
    const full = (await live([])) - before;
    const [off, on] = [await live(['lora.rank=1']), await live(['lora.rank=1', 'kl.beta=0.1'])];
    expect(on - off).toBeLessThan(100);
    expect((await live(['kl.beta=0.1'])) - before - full).toBeGreaterThanOrEqual(weights);
    // Weights, mean and square there; weights and three times the adapters here.
    expect(full).toBeGreaterThanOrEqual(3 * weights);
    expect(off - before).toBeLessThan(2 * weights);
  });

  it('leaves adapters that evaluate as the run did, and that another run begins with', async () => {
    const root = tempFolder();
    const model = await tinyModelFolder();
    const settings = [`model=${model}`, 'lora.rank=2', 'optimizer.learningRate=0.05', 'kl.beta=0.1'];
    const first = await run({ output: join(root, 'first'), settings });
    const last = join(root, 'first/checkpoints/step-8');
    expect(existsSync(join(last, 'model.safetensors'))).toBe(false);
    const config = JSON.parse(readFileSync(join(last, 'adapter_config.json'), 'utf8'));
    expect(config).toMatchObject({ peft_type: 'LORA', r: 2, lora_alpha: 4, base_model_name_or_path: model });

    // Trained on: another run's reference and its first evaluation are the end of the first run.
    const on = [`model=${model}`, `lora.adapter=${last}`, 'kl.beta=0.1', 'optimizer.learningRate=0.05'];
    const second = await run({ output: join(root, 'second'), settings: on });
    expect(second.end.before!.greedy).toEqual(first.end.after!.greedy);
    expect(second.rows[0]!.kl).toBe(0);
    expect(second.rows.at(-1)!.kl).toBeGreaterThan(0);
    await run({ output: join(root, 'stopped'), settings: on, stopAfter: 3 });
    await run({ output: join(root, 'stopped'), settings: on, resume: true });
    expect(lines(root, 'stopped/metrics.jsonl')).toEqual(lines(root, 'second/metrics.jsonl'));
    const { files } = JSON.parse(readFileSync(join(root, 'second/config.json'), 'utf8'));
    expect(Object.keys(files)).toContain(join(last, 'adapter_model.safetensors'));
  });

  it('does not take an adapter for a model whose weights are trained', async () => {
    const root = tempFolder();
    const model = await tinyModelFolder();
    await run({ output: join(root, 'a'), settings: [`model=${model}`, 'lora.rank=2', 'train.steps=1'] });
    const adapter = join(root, 'a/checkpoints/step-1');
    const wrong = openRun(resolvedRun({ output: join(root, 'b'), settings: [`model=${adapter}`] }));
    await expect(wrong).rejects.toMatchObject({
      message: `${adapter} is an adapter of ${model}, not a model`,
      hint: expect.stringContaining(`model=${model} lora.adapter=${adapter}`),
    });
    expect(existsSync(join(root, 'b'))).toBe(false);
  });
});

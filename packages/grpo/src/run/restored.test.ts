import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { AdamW, tidy } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SafetensorsFile, type TensorEntry, writeSafetensors } from '../formats/safetensors.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { saveCheckpoint } from './folder/checkpoint.js';
import { readBack } from './folder/read-back.js';
import { type RunOptions, run } from './run.test.helper.js';
import { tinyModel, tinyModelFolder } from './tiny-model.test.helper.js';

/** A run that stopped after its fourth step, and a file of its checkpoint. */
async function stoppedRun() {
  const options: RunOptions = {
    output: join(tempFolder(), 'run'),
    settings: [
      `model=${await tinyModelFolder()}`,
      ...['train.canaries=0', 'optimizer.learningRate=0.01', 'kl.beta=0.05', 'doctor.onFinding=stop'],
    ],
  };
  await run({ ...options, stopAfter: 4 });
  const file = (...path: string[]) => join(options.output, 'checkpoints', 'step-4', ...path);
  return { file, resume: () => run({ ...options, resume: true, stopAfter: 5 }) };
}

/** Writes a file's tensors again, under the names that `nameOf` gives and with the bytes that `change` makes. */
function rewrite(
  path: string,
  nameOf: (name: string) => string,
  change = (bytes: Uint8Array) => bytes,
): void {
  using file = SafetensorsFile.open(path);
  const entries = [...file.tensors].map(([name, { dtype, shape }]): TensorEntry => {
    const bytes = file.read(name);
    return { name: nameOf(name), dtype, shape, data: () => change(bytes) };
  });
  writeSafetensors(path, entries, file.metadata, { sums: true });
}

describe('a resumed run', () => {
  it('goes on from what the checkpoint holds', async () => {
    const { resume } = await stoppedRun();
    expect((await resume()).end.stopped).toBeUndefined();
  });

  it.each([
    ['model.safetensors', 'the weights'],
    ['trainer/optimizer.safetensors', 'the optimizer'],
  ])('is refused where a byte of %s is another', async (name) => {
    const { file, resume } = await stoppedRun();
    const bytes = readFileSync(file(name));
    bytes[bytes.length - 5]! ^= 4;
    writeFileSync(file(name), bytes);
    await expect(resume()).rejects.toThrow(/tensor ".+": its bytes have the CRC-32/);
    await expect(resume()).rejects.toMatchObject({ hint: expect.stringContaining('Delete') });
  });

  it.each<[string, (file: (...path: string[]) => string) => void]>([
    [
      'means and squares are exchanged',
      (file) => {
        const other: Record<string, string> = { mean: 'square', square: 'mean' };
        rewrite(file('trainer', 'optimizer.safetensors'), (name) =>
          name.replace(/(mean|square)$/, (part) => other[part]!),
        );
      },
    ],
    [
      'the weights are others',
      (file) =>
        rewrite(
          file('model.safetensors'),
          (name) => name,
          (bytes) => bytes.map((byte, i) => (i % 4 === 2 ? byte ^ 0x20 : byte)),
        ),
    ],
  ])('stops with H09 where %s', async (_, plant) => {
    const { file, resume } = await stoppedRun();
    plant(file);
    const { end } = await resume();
    expect(end.stopped?.code).toBe('H09.audit');
  });
});

describe('reading a checkpoint back', () => {
  it('names the tensor that the run has otherwise', async () => {
    const model = await tinyModel();
    const optimizer = new AdamW(model.decoder.trainable, {
      ...{ beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0 },
    });
    onTestFinished(() => optimizer.dispose());
    const root = tempFolder();
    const saved = saveCheckpoint(root, { step: 1, model, optimizer, state: {} }, 1);
    expect(() => readBack(saved.dir, { model, optimizer })).not.toThrow();
    optimizer.accumulate(() =>
      tidy(() => model.decoder.parameters.get('model.norm.weight')!.sum().backward()),
    );
    optimizer.step(0.1, 0);
    expect(() => readBack(saved.dir, { model, optimizer })).toThrow(
      /model\.safetensors is not what the run has: 'model\.norm\.weight': its CRC-32 is/,
    );
  });
});

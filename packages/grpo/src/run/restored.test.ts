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

/** A run with state of every kind that stopped after its fourth step, with a way to change a file of its checkpoint. */
async function statefulRun(more: readonly string[] = []) {
  const options: RunOptions = {
    output: join(tempFolder(), 'run'),
    settings: [
      `model=${await tinyModelFolder()}`,
      ...['train.canaries=0', 'optimizer.learningRate=0.01', 'doctor.onFinding=off', 'rollout.prompts=3'],
      ...['kl.beta=0.05', 'kl.control=adaptive', 'kl.target=0.1', 'entropy.adaptive=true', ...more],
    ],
  };
  await run({ ...options, stopAfter: 4 });
  const edit = (name: string, change: (text: string) => string) => {
    const path = join(options.output, 'checkpoints', 'step-4', 'trainer', name);
    writeFileSync(path, change(readFileSync(path, 'utf8')));
  };
  const resume = (settings: readonly string[] = []) =>
    run({ ...options, settings: [...options.settings, ...settings], resume: true, stopAfter: 5 });
  return { edit, resume };
}

const STORE = ['groups.replay=3', 'groups.refills=1', 'objective.oldLogprobs=sampler'];

/** A change of each object of a text of JSON, or of one in each line. */
const ofJson = (change: (json: ReturnType<typeof JSON.parse>) => void) => (text: string) => {
  const lines = text.startsWith('{\n') ? [text] : text.trimEnd().split('\n');
  const changed = lines.map((line) => {
    const json = JSON.parse(line);
    change(json);
    return JSON.stringify(json);
  });
  return `${changed.join('\n')}\n`;
};

describe('the state of a resumed run', () => {
  it('is what it was when the checkpoint was saved', async () => {
    const { resume } = await statefulRun(STORE);
    expect((await resume()).rows.map(({ step }) => step)).toEqual([5]);
  });

  it('is not judged where the checkpoint is of a version that took no digests', async () => {
    const { edit, resume } = await statefulRun();
    edit(
      'state.json',
      ofJson((state) => {
        delete state.digests;
        state.control.updates++;
      }),
    );
    expect((await resume()).rows).toHaveLength(1);
  });

  it('may have a store of another size', async () => {
    const { resume } = await statefulRun(STORE);
    expect((await resume(['groups.replay=1'])).rows).toHaveLength(1);
  });

  it.each<[string, string, (json: ReturnType<typeof JSON.parse>) => void]>([
    ['number of problems taken', 'state.json', (state) => (state.problems -= 3)],
    ['number of tokens', 'state.json', (state) => state.tokens++],
    ['β of each kind of problem', 'state.json', (state) => (state.control.betas[''].beta *= 2)],
    ['control of the entropy', 'state.json', (state) => (state.control.entropy.coefficient += 0.25)],
    ['number of updates', 'state.json', (state) => state.control.updates--],
    ['checksums of the weights', 'state.json', (state) => state.checksums.policy++],
  ])('is refused where the %s is another', async (part, file, change) => {
    const { edit, resume } = await statefulRun();
    edit(file, ofJson(change));
    await expect(resume()).rejects.toThrow(
      `the run does not go on from where its checkpoint of step 4 was saved; other than there: ${part}`,
    );
  });

  it.each<[string, (json: ReturnType<typeof JSON.parse>) => void]>([
    ['score', (group) => (group.score *= 2)],
    ['log-prob of the sampler', ({ completions }) => (completions[0].sampledLogprobs[0] -= 0.5)],
    ['order of the rewards of its completions', ({ rewards }) => rewards.columns[0].reverse()],
    ['problem', (group) => group.problem++],
    ['step', (group) => group.step++],
  ])('is refused where the %s of a stored group is another', async (_, change) => {
    const { edit, resume } = await statefulRun(STORE);
    edit('replay.jsonl', ofJson(change));
    await expect(resume()).rejects.toThrow(/other than there: stored groups \(groups\.replay=3\)$/);
  });

  it('is refused where the rows count other problems, whatever the checkpoint says of itself', async () => {
    const { edit, resume } = await statefulRun(STORE);
    edit(
      'state.json',
      ofJson((state) => {
        delete state.digests;
        state.problems = 4 * 3;
      }),
    );
    await expect(resume()).rejects.toThrow(
      /checkpoint of step 4 goes on after 12 problems, and by groups_sampled in metrics\.jsonl 1[3-9] were taken/,
    );
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

import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { memory } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DEVICE } from '../device.test.helper.js';
import { SafetensorsFile, writeSafetensors } from '../formats/safetensors.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { loadSequenceClassifier } from './sequence-classifier.js';

const fixture = (room: string, name: string) =>
  fileURLToPath(new URL(`../../../../parity/fixtures/${room}/${name}`, import.meta.url));

interface Expected {
  cases: { ids: number[] }[];
  float32: number[];
  bfloat16: number[];
}

const expectedOf = (name: string) =>
  JSON.parse(readFileSync(join(fixture('reward-models', name), 'expected.json'), 'utf8')) as Expected;

function load(name: string, dtype: 'float32' | 'bfloat16' = 'float32') {
  const model = loadSequenceClassifier(fixture('reward-models', name), { dtype, device: DEVICE });
  onTestFinished(() => model[Symbol.dispose]());
  return model;
}

const furthest = (a: readonly number[], b: readonly number[]) => {
  expect(a.length).toBe(b.length);
  return Math.max(...a.map((x, i) => Math.abs(x - b[i]!)));
};

describe.each(['gpt2', 'llama3', 'qwen2', 'qwen3'])('%s against transformers', (name) => {
  const { cases, float32, bfloat16 } = expectedOf(name);
  const sequences = cases.map(({ ids }) => ids);

  it('gives the same scores, all in one pass and each alone', () => {
    const model = load(name);
    expect(furthest(model.scores(sequences), float32)).toBeLessThan(2e-5);
    expect(
      furthest(
        sequences.map((ids) => model.scores([ids])[0]!),
        float32,
      ),
    ).toBeLessThan(2e-5);
    expect(new Set(float32.map((score) => score.toFixed(3))).size).toBeGreaterThan(2);
  });

  it('is near in bfloat16', () => {
    expect(furthest(load(name, 'bfloat16').scores(sequences), bfloat16)).toBeLessThan(0.05);
  });

  it('leaves no tensors', () => {
    const before = memory().tensors;
    using model = loadSequenceClassifier(fixture('reward-models', name), { device: DEVICE });
    const loaded = memory().tensors;
    model.scores(sequences);
    expect(memory().tensors).toBe(loaded);
    model[Symbol.dispose]();
    expect(memory().tensors).toBe(before);
  });
});

it('looks at the last token that is no padding', () => {
  const model = load('gpt2');
  const pad = model.tokenizer.padId!;
  const [plain, padded, inside, only] = model.scores([
    [1, 2],
    [1, 2, pad, pad],
    [1, pad, 2],
    [pad, pad],
  ]);
  expect(padded).toBe(plain);
  expect(inside).not.toBeCloseTo(plain!, 3);
  expect(only).toBeTypeOf('number');
});

describe('refuses', () => {
  /** The folder with a head of another shape. */
  function withHead(shape: number[]): string {
    const dir = tempFolder();
    const from = fixture('reward-models', 'qwen2');
    cpSync(from, dir, { recursive: true });
    using file = SafetensorsFile.open(join(from, 'model.safetensors'));
    const entries = [...file.tensors].map(([name, info]) => {
      const own = name === 'score.weight' ? shape : [...info.shape];
      const bytes = file.read(name);
      const size = 4 * own.reduce((a, b) => a * b, 1);
      const data = new Uint8Array(size);
      data.set(bytes.subarray(0, size));
      return { name, dtype: info.dtype, shape: own, data: () => data };
    });
    writeSafetensors(join(dir, 'model.safetensors'), entries);
    return dir;
  }

  it('several labels', () => {
    expect(() => loadSequenceClassifier(withHead([3, 16]))).toThrow('has 3 labels; a reward model has one');
  });

  it('a head of another width', () => {
    expect(() => loadSequenceClassifier(withHead([1, 8]))).toThrow("tensor 'score.weight' has shape [1, 8]");
  });

  it('a language model', () => {
    expect(() => loadSequenceClassifier(fixture('models', 'qwen3'))).toThrow(
      'has no score.weight: it is not a sequence-classification model',
    );
  });

  it('an adapter, and what is no model', () => {
    expect(() => loadSequenceClassifier(fixture('lora', 'llama3'))).toThrow('is an adapter');
    const file = join(tempFolder(), 'x');
    writeFileSync(file, '');
    expect(() => loadSequenceClassifier(file)).toThrow('is a file, not a model folder');
    expect(() => loadSequenceClassifier('nobody/nothing-here')).toThrow('no model nobody/nothing-here');
  });
});

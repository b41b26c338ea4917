import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type Dice, fuzz, mutateBytes, mutateJson, replaceFile } from '../formats/mutate.test.helper.js';
import { openCheckpoint } from '../formats/safetensors.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { Tokenizer } from '../text/tokenizer.js';
import { loadModel } from './folder/load.js';
import type { LoadedModel } from './model.js';
import { parameterSpecs } from './parameters.js';
import { rotaryFrequencies } from './rope.js';

const COUNT = Number(process.env.GRPO_FUZZ ?? 1200);
const INDEX = 'model.safetensors.index.json';

const fixture = (name: string) =>
  fileURLToPath(new URL(`../../../../parity/fixtures/models/${name}`, import.meta.url));

function copyOf(name: string): string {
  const dir = tempFolder();
  cpSync(fixture(name), dir, { recursive: true });
  return dir;
}

/** Damages the bytes of a JSON file, or its values. */
function damageJson(dice: Dice, bytes: Buffer): Uint8Array | string {
  return dice.below(3) === 0
    ? mutateBytes(dice, bytes)
    : JSON.stringify(mutateJson(dice, JSON.parse(bytes.toString())));
}

/** Writes one of a folder's files damaged, and the others whole. */
function damager(dir: string, names: readonly string[]): (dice: Dice, seed: number) => void {
  const whole = names.map((name) => readFileSync(join(dir, name)));
  return (dice, seed) => {
    for (const [i, name] of names.entries()) {
      const bytes = whole[i]!;
      replaceFile(join(dir, name), i === seed % names.length ? damageJson(dice, bytes) : bytes);
    }
  };
}

function checkModel({ decoder, endIds, tokenizer }: LoadedModel): void {
  using open = decoder;
  const { config, parameters } = open;
  for (const [name, { shape }] of parameterSpecs(config)) {
    expect(parameters.get(name)!.numel).toBe(shape.reduce((product, size) => product * size, 1));
  }
  expect(config.heads % config.kvHeads).toBe(0);
  for (const rope of config.ropes) expect(rotaryFrequencies(rope).every(Number.isFinite)).toBe(true);
  expect(endIds.size).toBeGreaterThan(0);
  for (const id of endIds) expect(id).toBeLessThan(config.vocabSize);
  expect(tokenizer.vocabSize).toBeLessThanOrEqual(config.vocabSize);
}

describe('whatever is damaged, a folder is refused in words or loads:', () => {
  it.each(['llama3', 'gpt2', 'qwen3'])(`${COUNT / 3} configurations of %s`, (name) => {
    const dir = copyOf(name);
    const damage = damager(dir, ['config.json', 'config.json', 'generation_config.json']);
    const read = (dice: Dice, seed: number) => {
      damage(dice, seed);
      return loadModel(dir);
    };
    const { refused, loaded } = fuzz(COUNT / 3, read, checkModel);
    expect(refused).toBeGreaterThan(COUNT / 10);
    expect(loaded).toBeGreaterThan(COUNT / 100);
  });

  it(`${COUNT} tokenizers`, () => {
    const dir = copyOf('llama3');
    const damage = damager(dir, ['tokenizer.json', 'tokenizer.json', 'tokenizer_config.json']);
    const read = (dice: Dice, seed: number) => {
      damage(dice, seed);
      return Tokenizer.load(dir);
    };
    const { refused, loaded } = fuzz(COUNT, read, (tokenizer) => {
      const ids = tokenizer.encode("It's 12 o'clock:\n\tcafé 😀 <|end|>");
      for (const id of ids) expect(id).toBeLessThan(tokenizer.vocabSize);
      expect(typeof tokenizer.decode(ids)).toBe('string');
    });
    expect(refused).toBeGreaterThan(COUNT / 10);
    expect(loaded).toBeGreaterThan(COUNT / 100);
  });

  it(`${COUNT} indexes of shards`, () => {
    const dir = copyOf('llama3-sharded');
    const damage = damager(dir, [INDEX]);
    const read = (dice: Dice, seed: number) => {
      damage(dice, seed);
      return openCheckpoint(dir);
    };
    using whole = openCheckpoint(fixture('llama3-sharded'));
    const { refused, loaded } = fuzz(COUNT, read, (checkpoint) => {
      using open = checkpoint;
      for (const name of open.names()) {
        expect(Buffer.compare(open.read(name), whole.read(name)), name).toBe(0);
      }
    });
    expect(refused).toBeGreaterThan(COUNT / 10);
    expect(loaded).toBeGreaterThan(COUNT / 100);
  });
});

import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AdamW } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { type LoadOptions, loadModel, type Model, saveModel } from '../../models/index.js';
import { tinyModel } from '../tiny-model.test.helper.js';
import { latestCheckpoint, saveCheckpoint } from './checkpoint.js';
import { readModelBack } from './read-model-back.js';

const fixture = (name: string) =>
  fileURLToPath(new URL(`../../../../../parity/fixtures/models/${name}`, import.meta.url));

/** A model, saved, and a way to change a JSON file of its folder. */
function saved(name: string, options: LoadOptions = {}) {
  const model = loadModel(fixture(name), options);
  onTestFinished(() => model.decoder.dispose());
  const dir = tempFolder();
  saveModel(model, dir);
  const edit = (file: string, change: (json: Record<string, unknown>) => void) => {
    const json = JSON.parse(readFileSync(join(dir, file), 'utf8'));
    change(json);
    writeFileSync(join(dir, file), JSON.stringify(json));
  };
  return { model, dir, edit };
}

const LORA = { lora: { rank: 2, alpha: 8, targets: ['q_proj', 'v_proj'], seed: 1 } };

describe('reading a saved model back', () => {
  it.each([
    ...['gpt2', 'llama3', 'qwen3-bf16', 'gemma2', 'gemma3', 'phi3', 'smollm3', 'olmo2', 'granite'],
    ...['mistral', 'qwen2', 'a2d-qwen3', 'dream', 'llada'],
  ])('finds %s as it is in memory', (name) => {
    const { model, dir } = saved(name);
    readModelBack(dir, model);
  });

  it.each(['llama3', 'gpt2', 'llada'])('finds the adapters of %s as they are in memory', (name) => {
    const { model, dir } = saved(name, { lora: { rank: 2, alpha: 8, seed: 1 } });
    readModelBack(dir, model);
  });

  it('names a key of the configuration that is missing', () => {
    const { model, dir, edit } = saved('llama3');
    const key = 'rope_parameters' in model.configJson ? 'rope_parameters' : 'rope_theta';
    edit('config.json', (json) => delete json[key]);
    expect(() => readModelBack(dir, model)).toThrow(
      new RegExp(`config\\.json is not what the run has: '${key}': found nothing, expected .`),
    );
  });

  it('names a key of the configuration that is another, and one too many', () => {
    const { model, dir, edit } = saved('llama3');
    edit('config.json', (json) => {
      json.vocab_size = 7;
    });
    expect(() => readModelBack(dir, model)).toThrow(/'vocab_size': found 7, expected \d+/);
    const other = saved('llama3');
    other.edit('config.json', (json) => {
      json.sliding_window = 3;
    });
    expect(() => readModelBack(other.dir, other.model)).toThrow(
      /'sliding_window': found 3, expected nothing/,
    );
  });

  it('names a dtype that is another', () => {
    const { model, dir, edit } = saved('llama3');
    edit('config.json', (json) => {
      json.dtype = 'float16';
    });
    expect(() => readModelBack(dir, model)).toThrow(/'dtype': found "float16", expected "float32"/);
  });

  it('names a file beside the weights that is missing or has other bytes', () => {
    const { model, dir } = saved('llama3');
    const path = join(dir, 'tokenizer_config.json');
    const bytes = readFileSync(path, 'utf8');
    writeFileSync(path, `${bytes}\n`);
    expect(() => readModelBack(dir, model)).toThrow(
      /tokenizer_config\.json is not what the run has: found \d+ bytes that are not/,
    );
    rmSync(path);
    expect(() => readModelBack(dir, model, 'step-3')).toThrow(
      /^step-3.tokenizer_config\.json is not what the run has: it is missing$/,
    );
  });

  it('finds a file that was never taken along by what it says', () => {
    const { model, dir } = saved('llama3');
    const lacking: Model = { ...model, endIds: new Set([...model.endIds, 7]) };
    expect(() => readModelBack(dir, lacking)).toThrow(/'endIds': found \[.*\], expected \[.*7\]/);
  });

  it.each<[string, unknown, RegExp]>([
    ['lora_alpha', 2, /adapter_config\.json is not what the run has: 'lora_alpha': found 2, expected 8/],
    ['r', 4, /'r': found 4, expected 2/],
    ['target_modules', ['q_proj'], /'target_modules': found \[.*q_proj.*\], expected \[.*/],
    ['base_model_name_or_path', '/elsewhere', /'base_model_name_or_path': found "\/elsewhere", expected "/],
  ])('names %s of an adapter', (key, value, message) => {
    const { model, dir, edit } = saved('llama3', LORA);
    readModelBack(dir, model);
    edit('adapter_config.json', (json) => {
      json[key] = value;
    });
    expect(() => readModelBack(dir, model)).toThrow(message);
  });
});

it('a checkpoint whose model folder lacks something is not kept, and the one before it stays', async () => {
  const root = join(tempFolder(), 'checkpoints');
  const model = await tinyModel();
  const betas = { beta1: 0.9, beta2: 0.99, epsilon: 1e-8, weightDecay: 0 };
  const optimizer = new AdamW(model.decoder.trainable, betas);
  onTestFinished(() => optimizer.dispose());
  saveCheckpoint(root, { step: 1, model, optimizer, state: {} }, 1);
  const { model_type: _, ...lacking } = model.configJson;
  let reads = 0;
  const careless = {
    ...model,
    /** Whole but for the first time, when it is written. */
    get configJson() {
      return reads++ === 0 ? lacking : model.configJson;
    },
  };
  expect(() => saveCheckpoint(root, { step: 2, model: careless, optimizer, state: {} }, 1)).toThrow(
    /step-2.config\.json is not what the run has: 'model_type': found nothing/,
  );
  expect(latestCheckpoint(root)?.step).toBe(1);
});

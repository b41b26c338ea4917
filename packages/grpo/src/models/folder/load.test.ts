import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { UserError } from '../../errors/user-error.js';
import { type TensorEntry, writeSafetensors } from '../../formats/safetensors.js';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { rewriteTensors } from '../rewrite-tensors.test.helper.js';
import { loadModel } from './load.js';

const fixture = (name: string) =>
  fileURLToPath(new URL(`../../../../../parity/fixtures/models/${name}`, import.meta.url));

function copyOf(name: string): string {
  const dir = tempFolder();
  cpSync(fixture(name), dir, { recursive: true });
  return dir;
}

const remove = (file: string) => (dir: string) => rmSync(join(dir, file));
const write = (file: string, text: string) => (dir: string) => writeFileSync(join(dir, file), text);

/** Sets keys of a JSON file; undefined takes a key away. */
const set = (file: string, changes: object) => (dir: string) => {
  const path = join(dir, file);
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), ...changes }));
};

/** Writes the weights again, see {@link rewriteTensors}. */
const rewrite = (change: (entry: TensorEntry) => TensorEntry | undefined) => (dir: string) =>
  rewriteTensors(join(dir, 'model.safetensors'), change);

const NORM = 'model.norm.weight';
const onNorm = (change: (entry: TensorEntry) => TensorEntry | undefined) =>
  rewrite((entry) => (entry.name === NORM ? change(entry) : entry));

const noEnd = (dir: string) => {
  set('generation_config.json', { eos_token_id: undefined })(dir);
  set('config.json', { eos_token_id: null })(dir);
  set('tokenizer_config.json', { eos_token: undefined })(dir);
};
const resharded = (change: (map: Record<string, string>) => void) => (dir: string) => {
  const path = join(dir, 'model.safetensors.index.json');
  const index = JSON.parse(readFileSync(path, 'utf8')) as { weight_map: Record<string, string> };
  change(index.weight_map);
  writeFileSync(path, JSON.stringify(index));
};

type Case = [name: string, fixture: string, damage: (dir: string) => void, message: RegExp];

const cases: Case[] = [
  ['no config.json', 'llama3', remove('config.json'), /is no model folder: it has no config\.json/],
  ['config.json that is no JSON', 'llama3', write('config.json', '{"a": '), /config\.json: .*not valid JSON/],
  [
    'config.json that is a list',
    'llama3',
    write('config.json', '[]'),
    /config\.json: .*must be a JSON object/,
  ],
  [
    'an unknown model_type',
    'llama3',
    set('config.json', { model_type: 'mamba' }),
    /config\.json: model_type "mamba" is not supported; supported: gpt2, llama, mistral, qwen2, qwen3/,
  ],
  ['no weights', 'llama3', remove('model.safetensors'), /no weights: neither model\.safetensors nor/],
  [
    'pickled weights only',
    'llama3',
    (dir) => {
      remove('model.safetensors')(dir);
      write('pytorch_model.bin', 'x')(dir);
    },
    /pickle files \("pytorch_model\.bin"\).*runs whatever code/,
  ],
  ['a missing tensor', 'llama3', onNorm(() => undefined), /has no tensor 'model\.norm\.weight'/],
  [
    'more layers than config.json says',
    'llama3',
    set('config.json', { num_hidden_layers: 1 }),
    /9 tensors that config\.json does not ask for: "model\.layers\.1\./,
  ],
  [
    'a tensor of another shape',
    'llama3',
    onNorm((entry) => ({ ...entry, shape: [4, 8] })),
    /'model\.norm\.weight' has shape \[4, 8\], config\.json asks for \[32\]/,
  ],
  [
    'integer weights',
    'llama3',
    onNorm((entry) => ({ ...entry, dtype: 'I32' })),
    /'model\.norm\.weight' holds I32; weights must be F64, F32, F16, BF16/,
  ],
  [
    'a shard that is missing',
    'llama3-sharded',
    remove('model-00002-of-00005.safetensors'),
    /index\.json: the shard .*model-00002-of-00005\.safetensors is missing/,
  ],
  [
    'a shard outside the folder',
    'llama3-sharded',
    resharded((map) => {
      map[NORM] = '../model.safetensors';
    }),
    /its file "\.\.\/model\.safetensors" lies outside the model's folder/,
  ],
  [
    'a tensor that its index lacks',
    'llama3-sharded',
    resharded((map) => {
      delete map['lm_head.weight'];
    }),
    /has no tensor 'lm_head\.weight'/,
  ],
  [
    'no tokenizer.json',
    'llama3',
    remove('tokenizer.json'),
    /tokenizer\.json: there is no such file, and no tokenizer\.model/,
  ],
  [
    'a tokenizer with more ids than the embedding',
    'llama3',
    set('config.json', { vocab_size: 262 }),
    /tokenizer has ids up to 262, the model's embedding only 262 rows/,
  ],
  [
    'no end token',
    'llama3',
    noEnd,
    /no end token: .*generation_config\.json, .*config\.json, .*tokenizer_config/,
  ],
  [
    'an end token in words',
    'llama3',
    set('generation_config.json', { eos_token_id: [259, '<end>'] }),
    /generation_config\.json: eos_token_id must be an id below 264.*; found "<end>"/,
  ],
  [
    'an end token beyond the vocabulary',
    'llama3',
    set('generation_config.json', { eos_token_id: 264 }),
    /eos_token_id must be an id below 264.*; found 264/,
  ],
];

function failureOf(dir: string): Error {
  try {
    loadModel(dir);
  } catch (error) {
    return error as Error;
  }
  throw new Error('the folder loaded');
}

describe('loadModel refuses a folder with', () => {
  it.each(cases)('%s', (_, name, damage, message) => {
    const dir = copyOf(name);
    expect(() => loadModel(dir)).not.toThrow();
    damage(dir);
    const error = failureOf(dir);
    expect(error.message).toMatch(message);
    expect(error.message).toContain(dir);
    expect(error.name).toMatch(/^(UserError|FileError|FormatError)$/);
  });

  it('its path wrong', () => {
    const missing = failureOf(join(tempFolder(), 'none'));
    expect(missing).toBeInstanceOf(UserError);
    expect(missing.message).toMatch(/no model folder at .*none/);
    expect((missing as UserError).hint).toContain('grpo fetch');
    const file = failureOf(join(fixture('llama3'), 'config.json'));
    expect(file.message).toMatch(/config\.json is a file, not a model folder/);
  });
});

describe('loadModel takes', () => {
  it('the end ids of generation_config.json, the tokenizer’s own first', () => {
    expect([...loadModel(fixture('llama3')).endIds].sort()).toEqual([259, 261]);
    const dir = copyOf('llama3');
    for (const own of ['<|end|>', '<|endoftext|>']) {
      set('tokenizer_config.json', { eos_token: own })(dir);
      const { endIds, tokenizer } = loadModel(dir);
      expect(tokenizer.eosToken).toBe(own);
      expect([...endIds][0]).toBe(tokenizer.eosId);
      expect(endIds.size).toBe(2);
    }
  });

  it('the end id of config.json, then the tokenizer’s, where nothing else names one', () => {
    const dir = copyOf('llama3');
    remove('generation_config.json')(dir);
    set('config.json', { eos_token_id: 7 })(dir);
    expect([...loadModel(dir).endIds]).toEqual([7]);
    set('config.json', { eos_token_id: null })(dir);
    const { endIds, tokenizer } = loadModel(dir);
    expect([...endIds]).toEqual([tokenizer.eosId]);
  });

  it('GPT-2 without `transformer.`, with the mask buffers and the head of older files', () => {
    const dir = copyOf('gpt2');
    const extra = (name: string): TensorEntry => ({
      name,
      dtype: 'F32',
      shape: [1],
      data: () => new Uint8Array(4),
    });
    rewrite((entry) => ({ ...entry, name: entry.name.replace(/^transformer\./, '') }))(dir);
    const path = join(dir, 'model.safetensors');
    const old = ['h.0.attn.bias', 'h.1.attn.masked_bias', 'lm_head.weight'].map(extra);
    const all: TensorEntry[] = [];
    rewrite((entry) => {
      all.push(entry);
      return entry;
    })(dir);
    writeSafetensors(path, [...all, ...old]);
    expect(all.map(({ name }) => name)).toContain('wte.weight');
    const [ours, theirs] = [loadModel(dir), loadModel(fixture('gpt2'))].map(({ decoder }) => decoder);
    expect([...ours!.parameters.keys()]).toEqual([...theirs!.parameters.keys()]);
    for (const [name, parameter] of theirs!.parameters) {
      expect(ours!.parameters.get(name)!.toNumbers(), name).toEqual(parameter.toNumbers());
    }
  });

  it('weights as the dtype that is asked for', () => {
    const { decoder } = loadModel(fixture('llama3'), { dtype: 'bfloat16' });
    expect(new Set([...decoder.parameters.values()].map(({ dtype }) => dtype))).toEqual(
      new Set(['bfloat16']),
    );
  });
});

import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { readGguf } from '../formats/read-gguf.test.helper.js';
import { SafetensorsFile } from '../formats/safetensors.js';
import { tempFolder } from '../formats/temp-folder.test.helper.js';
import { loadModel, mergeLora, openModelFolder, saveModel } from '../models/index.js';
import { rewriteTensors } from '../models/rewrite-tensors.test.helper.js';
import { exportGguf } from './export-gguf.js';
import type { ExportType } from './export-types.js';

const fixtures = fileURLToPath(new URL('../../../../parity/fixtures/', import.meta.url));
const fixture = (name: string) => join(fixtures, 'models', name);

/** Exports a model's folder, and reads the file. */
function exported(model: string, type?: ExportType, adapter?: string) {
  const path = join(tempFolder(), 'model.gguf');
  const opened = openModelFolder(model, adapter === undefined ? {} : { lora: { adapter } });
  const report = exportGguf(opened, path, { type });
  return { report, ...readGguf(path) };
}

/** A copy of a fixture, to be damaged or changed. */
function copyOf(name: string, change: (dir: string) => void): string {
  const dir = join(tempFolder(), name);
  cpSync(fixture(name), dir, { recursive: true });
  change(dir);
  return dir;
}

function setJson(dir: string, file: string, change: (json: Record<string, unknown>) => object): void {
  const path = join(dir, file);
  writeFileSync(path, JSON.stringify(change(JSON.parse(readFileSync(path, 'utf8')))));
}

const floats = (bytes: Uint8Array) => Array.from(new Float32Array(Uint8Array.from(bytes).buffer));

/** Values of a checkpoint in float32, row-major. */
function stored(model: string, name: string): number[] {
  using file = SafetensorsFile.open(join(fixture(model), 'model.safetensors'));
  return floats(file.read(name));
}

describe('exportGguf', () => {
  it('writes the tensors of Llama with the rotary pairs of queries and keys side by side', () => {
    const { tensors } = exported(fixture('llama3'), 'f32');
    const own = new Map([
      ['token_embd', 'model.embed_tokens'],
      ['output_norm', 'model.norm'],
      ['output', 'lm_head'],
      ...[0, 1].flatMap((i) =>
        [
          ['attn_norm', 'input_layernorm'],
          ['attn_v', 'self_attn.v_proj'],
          ['attn_output', 'self_attn.o_proj'],
          ['ffn_norm', 'post_attention_layernorm'],
          ['ffn_gate', 'mlp.gate_proj'],
          ['ffn_up', 'mlp.up_proj'],
          ['ffn_down', 'mlp.down_proj'],
        ].map(([to, from]) => [`blk.${i}.${to}`, `model.layers.${i}.${from}`] as const),
      ),
    ]);
    for (const [to, from] of own)
      expect(floats(tensors.get(`${to}.weight`)!.bytes), to).toEqual(stored('llama3', `${from}.weight`));
    for (const [name, from, heads] of [
      ['blk.1.attn_q.weight', 'q_proj', 4],
      ['blk.1.attn_k.weight', 'k_proj', 2],
    ] as const) {
      const [values, before] = [
        floats(tensors.get(name)!.bytes),
        stored('llama3', `model.layers.1.self_attn.${from}.weight`),
      ];
      expect(tensors.get(name)!.sizes).toEqual([32, heads * 16]);
      for (let head = 0; head < heads; head++) {
        for (let i = 0; i < 8; i++) {
          const row = (values: number[], r: number) =>
            values.slice(32 * (16 * head + r), 32 * (16 * head + r + 1));
          expect(row(values, 2 * i)).toEqual(row(before, i));
          expect(row(values, 2 * i + 1)).toEqual(row(before, i + 8));
        }
      }
    }
    expect(tensors.size).toBe(own.size + 2 * 2 + 1);
  });

  it('writes the divisors of Llama 3’s frequencies', () => {
    const { tensors } = exported(fixture('llama3'));
    // By the formula of llama.cpp's converter, in Python.
    const expected = [1, 2.442259389830086, 8, 8, 8, 8, 8, 8];
    const found = floats(tensors.get('rope_freqs.weight')!.bytes);
    for (const [i, value] of found.entries()) expect(value).toBeCloseTo(expected[i]!, 5);
    expect(exported(fixture('llama3-tied')).tensors.has('rope_freqs.weight')).toBe(false);
  });

  it('writes GPT-2 with its projections as [out, in], its biases and its positions', () => {
    const { tensors, metadata } = exported(fixture('gpt2'), 'q8_0');
    const [from, to] = [
      stored('gpt2', 'transformer.h.1.mlp.c_fc.weight'),
      exported(fixture('gpt2'), 'f32').tensors,
    ];
    const [input, output] = [32, from.length / 32];
    const turned = Array.from(
      { length: from.length },
      (_, i) => from[(i % input) * output + Math.floor(i / input)]!,
    );
    expect(floats(to.get('blk.1.ffn_up.weight')!.bytes)).toEqual(turned);
    expect(to.get('blk.1.ffn_up.weight')!.sizes).toEqual([input, output]);
    const types = Object.fromEntries([...tensors].map(([name, { type }]) => [name, type]));
    expect(types).toMatchObject({
      ...{ 'token_embd.weight': 8, 'position_embd.weight': 0, 'output_norm.bias': 0 },
      ...{ 'blk.0.attn_qkv.weight': 8, 'blk.0.attn_qkv.bias': 0, 'blk.0.attn_norm.weight': 0 },
    });
    expect(metadata).toMatchObject({
      'general.architecture': 'gpt2',
      'gpt2.attention.layer_norm_epsilon': Math.fround(1e-5),
      'gpt2.context_length': 128,
    });
  });

  it('leaves rows that are no whole blocks of Q8_0 in float16', () => {
    const { tensors, metadata } = exported(fixture('qwen2'), 'q8_0');
    expect(tensors.get('blk.0.ffn_down.weight')).toMatchObject({ type: 1, sizes: [48, 32] });
    expect(tensors.get('blk.0.ffn_up.weight')).toMatchObject({ type: 8, sizes: [32, 48] });
    expect(metadata['general.file_type']).toBe(7);
  });

  it('takes the type of the weights where none is given', () => {
    expect(exported(fixture('qwen3-bf16')).report.type).toBe('bf16');
    expect(exported(fixture('qwen3')).report.type).toBe('f16');
    expect(exported(fixture('qwen3-bf16')).tensors.get('token_embd.weight')!.type).toBe(30);
  });

  it.each(['gpt2', 'llama3'])('adds an adapter of %s as merging does', (name) => {
    const adapter = join(fixtures, 'lora', name);
    const model = loadModel(fixture(name), { lora: { adapter } });
    const merged = join(tempFolder(), name);
    saveModel({ ...model, decoder: mergeLora(model.decoder) }, merged);
    const [direct, byMerging] = [exported(fixture(name), 'f32', adapter), exported(merged, 'f32')];
    expect([...direct.tensors.keys()]).toEqual([...byMerging.tensors.keys()]);
    for (const [tensor, { bytes }] of byMerging.tensors)
      expect(direct.tensors.get(tensor)!.bytes.equals(bytes), tensor).toBe(true);
    const plain = exported(fixture(name), 'f32').tensors;
    expect(
      [...plain].filter(([tensor, { bytes }]) => !direct.tensors.get(tensor)!.bytes.equals(bytes)).length,
    ).toBeGreaterThan(7);
    model.decoder.dispose();
  });

  it('writes the tokenizer, the template as it is, and every end token', () => {
    const { metadata, report } = exported(fixture('llama3'));
    expect(metadata).toMatchObject({
      'tokenizer.ggml.model': 'gpt2',
      'tokenizer.ggml.pre': 'gpt-2',
      'tokenizer.ggml.merges': ['t h', 'th e', 'Ġ the'],
      'tokenizer.ggml.eos_token_id': 261,
      'tokenizer.ggml.eot_token_id': 259,
      'tokenizer.ggml.padding_token_id': 262,
      'tokenizer.ggml.add_bos_token': false,
    });
    expect(metadata['tokenizer.chat_template']).toBe(
      readFileSync(join(fixture('llama3'), 'chat_template.jinja'), 'utf8'),
    );
    const tokens = metadata['tokenizer.ggml.tokens'] as string[];
    const types = metadata['tokenizer.ggml.token_type'] as number[];
    expect(tokens.slice(256)).toEqual([
      'th',
      'the',
      'Ġthe',
      '<|endoftext|>',
      '<|start|>',
      '<|end|>',
      '<|pad|>',
      '[PAD263]',
    ]);
    expect(types.slice(256)).toEqual([1, 1, 1, 3, 3, 3, 3, 5]);
    expect(report.notes).toEqual([]);
    // Its generation_config.json names <|endoftext|> only.
    expect(exported(fixture('gpt2')).report.notes).toEqual(['llama.cpp ends a completion at <|end|>, too.']);
  });
});

const cases: [name: string, fixture: string, change: (dir: string) => void, message: RegExp][] = [
  ['a masked-diffusion model', 'llada', () => {}, /masked-diffusion model, which cannot be exported/],
  [
    'an activation that llama.cpp does not compute',
    'llama3',
    (dir) => setJson(dir, 'config.json', (json) => ({ ...json, hidden_act: 'gelu' })),
    /config\.json: this model cannot be exported as GGUF, since llama\.cpp's llama differs in the activation$/,
  ],
  [
    'biases that it does not read, with scaled frequencies',
    'qwen3',
    (dir) =>
      setJson(dir, 'config.json', (json) => ({
        ...json,
        attention_bias: true,
        rope_parameters: {
          ...{ rope_type: 'llama3', rope_theta: 1e4, factor: 8 },
          ...{ low_freq_factor: 1, high_freq_factor: 4, original_max_position_embeddings: 64 },
        },
      })),
    /llama\.cpp's qwen3 differs in its biases, llama3 scaling of rotary frequencies$/,
  ],
  [
    'words that llama.cpp cannot cut',
    'llama3',
    (dir) =>
      setJson(dir, 'tokenizer.json', (json) => ({
        ...json,
        pre_tokenizer: { type: 'ByteLevel', add_prefix_space: true, use_regex: true },
      })),
    /tokenizer\.json: llama\.cpp has no name for how this tokenizer cuts text into words/,
  ],
  [
    'a weight that is NaN',
    'qwen2',
    (dir) =>
      rewriteTensors(join(dir, 'model.safetensors'), (entry) =>
        entry.name === 'model.norm.weight'
          ? { ...entry, data: () => new Uint8Array(4 * entry.shape[0]!).fill(0xff) }
          : entry,
      ),
    /tensor 'model\.norm\.weight' holds NaN or infinite numbers/,
  ],
];

describe('exportGguf refuses', () => {
  it.each(cases)('%s', (_, name, change, message) => {
    expect(() => exported(copyOf(name, change))).toThrow(message);
  });
});

import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { UserError } from '../../errors/user-error.js';
import type { TensorEntry } from '../../formats/safetensors.js';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { loadModel } from '../folder/load.js';
import { rewriteTensors } from '../rewrite-tensors.test.helper.js';
import { adapterShape, baseOf, saveAdapter } from './adapter-folder.js';
import { Lora } from './lora.js';

const fixtures = fileURLToPath(new URL('../../../../../parity/fixtures/', import.meta.url));
const model = join(fixtures, 'models/llama3');

/** A copy of PEFT's adapter for llama3, with keys of its configuration changed. */
function copyWith(changes: object): string {
  const dir = tempFolder();
  cpSync(join(fixtures, 'lora/llama3'), dir, { recursive: true });
  const path = join(dir, 'adapter_config.json');
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), ...changes }));
  return dir;
}

/** A copy with its matrices written again, see {@link rewriteTensors}. */
function copyRewritten(change: (entry: TensorEntry) => TensorEntry | undefined): string {
  const dir = copyWith({});
  rewriteTensors(join(dir, 'adapter_model.safetensors'), change);
  return dir;
}

const FIRST = 'base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight';

const refused: [string, () => string, RegExp][] = [
  ['DoRA', () => copyWith({ use_dora: true }), /adapter_config\.json: use_dora is not supported/],
  ['ranks of their own', () => copyWith({ rank_pattern: { q_proj: 4 } }), /rank_pattern is not supported/],
  [
    'whole modules beside it',
    () => copyWith({ modules_to_save: ['lm_head'] }),
    /modules_to_save is not supp/,
  ],
  ['trained biases', () => copyWith({ bias: 'all' }), /bias "all" is not supported/],
  [
    'another method',
    () => copyWith({ peft_type: 'IA3' }),
    /peft_type "IA3" is not supported; supported: LORA/,
  ],
  [
    'changed base weights',
    () => copyWith({ init_lora_weights: 'pissa' }),
    /"pissa" has changed the base model/,
  ],
  ['another rank', () => copyWith({ r: 3 }), /has shape \[2, 32\], not \[3, 32\]/],
  ['no alpha', () => copyWith({ lora_alpha: null }), /lora_alpha is missing/],
  [
    'no targets',
    () => copyWith({ target_modules: null }),
    /target_modules must be a list of names, found nothing/,
  ],
  [
    'a matrix that is missing',
    () => copyRewritten((entry) => (entry.name === FIRST ? undefined : entry)),
    /no tensor 'base_model\.model\.model\.layers\.0\.self_attn\.q_proj\.lora_B\.weight'/,
  ],
  [
    'a layer that has none',
    () => copyWith({ target_modules: ['q_proj', 'v_proj'] }),
    /down_proj\.lora_A\.weight' is not a matrix of an attention or MLP projection/,
  ],
];

describe('an adapter', () => {
  it.each(refused)('with %s is refused', (_, make, message) => {
    const load = () => loadModel(model, { lora: { adapter: make() } });
    expect(load).toThrow(UserError);
    expect(load).toThrow(message);
  });

  it('for another model is refused', () => {
    const other = join(fixtures, 'models/qwen2');
    expect(() => loadModel(other, { lora: { adapter: copyWith({}) } })).toThrow(
      /'model\.layers\.0\.self_attn\.q_proj\.lora_B\.weight' has shape \[64, 2\], not \[32, 2\]/,
    );
  });

  it('whose layers are given by a pattern has those of its file', () => {
    const folders = [copyWith({}), copyWith({ target_modules: '.*proj' })];
    const [listed, pattern] = folders.map((adapter) => loadModel(model, { lora: { adapter } }).decoder);
    expect([...pattern!.trainable.keys()]).toEqual([...listed!.trainable.keys()]);
    expect(pattern!.lora!.settings.targets).toHaveLength(14);
    for (const decoder of [listed!, pattern!]) decoder.dispose();
  });

  it('leaves out the layers that are excluded, by names, ends of names or a pattern', () => {
    const excluded = (name: string) => name.includes('v_proj') || name.includes('layers.1.mlp.down_proj');
    const rest = copyRewritten((entry) => (excluded(entry.name) ? undefined : entry));
    const set = (changes: object) => {
      const path = join(rest, 'adapter_config.json');
      writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), ...changes }));
    };
    for (const exclude_modules of [
      ['v_proj', 'model.layers.1.mlp.down_proj'],
      '.*(v_proj|1.mlp.down_proj)',
    ]) {
      set({ exclude_modules });
      const { lora, trainable } = loadModel(model, { lora: { adapter: rest } }).decoder;
      expect([...trainable.keys()].filter(excluded)).toEqual([]);
      expect(lora!.settings.targets).toHaveLength(14 - 3);
      // Saved again, it names what it has.
      const again = tempFolder();
      saveAdapter(lora!, loadModel(model).decoder.config, again);
      expect(loadModel(model, { lora: { adapter: again } }).decoder.lora!.parameters.size).toBe(2 * 11);
      expect(adapterShape(rest).targets.toSorted()).toEqual([...lora!.settings.targets].sort());
    }
    set({ exclude_modules: ['v_proj'] });
    expect(() => loadModel(model, { lora: { adapter: rest } })).toThrow(/no tensor .*1\.mlp\.down_proj/);
    set({ exclude_modules: [3] });
    expect(() => loadModel(model, { lora: { adapter: rest } })).toThrow(/exclude_modules must be a list/);
  });

  it('of a fused projection has one pair of matrices for all parts; parts of it are refused', () => {
    const phi = join(fixtures, 'models/phi3');
    const { decoder } = loadModel(phi, { lora: { rank: 2, alpha: 4, seed: 1 } });
    const shape = (name: string) => decoder.lora!.parameters.get(`model.layers.0.${name}.weight`)!.shape;
    expect(shape('self_attn.qkv_proj.lora_B')).toEqual([(4 + 2 + 2) * 8, 2]);
    expect(shape('mlp.gate_up_proj.lora_B')).toEqual([2 * 48, 2]);
    const load = () => loadModel(phi, { lora: { rank: 2, alpha: 4, targets: ['q_proj'], seed: 1 } });
    expect(load).toThrow("this model has no layer 'q_proj'");
    expect(() => loadModel(phi, { lora: { adapter: copyWith({}) } })).toThrow(UserError);
  });

  it('of a model on a hub names it with its revision, as PEFT does', () => {
    const { decoder } = loadModel(model, { lora: { adapter: copyWith({}) } });
    const { settings, parameters } = decoder.lora!;
    const dir = tempFolder();
    saveAdapter(new Lora({ ...settings, base: 'org/name@abc' }, parameters), decoder.config, dir);
    expect(JSON.parse(readFileSync(join(dir, 'adapter_config.json'), 'utf8'))).toMatchObject({
      base_model_name_or_path: 'org/name',
      revision: 'abc',
    });
    expect(baseOf(dir)).toBe('org/name@abc');
    decoder.dispose();
  });

  it('of LLaDA names whole layers: the end of a name would also mean the head', () => {
    const llada = join(fixtures, 'models/llada');
    const saved = (targets: string[]) => {
      const { decoder } = loadModel(llada, { lora: { rank: 2, alpha: 4, targets, seed: 1 } });
      const adapter = tempFolder();
      saveAdapter(decoder.lora!, decoder.config, adapter);
      const again = loadModel(llada, { lora: { adapter } }).decoder;
      expect([...again.lora!.parameters.keys()]).toEqual([...decoder.lora!.parameters.keys()]);
      for (const one of [decoder, again]) one.dispose();
      return JSON.parse(readFileSync(join(adapter, 'adapter_config.json'), 'utf8')).target_modules;
    };
    expect(saved(['q_proj', 'ff_out'])).toEqual(
      [0, 1].flatMap((i) => ['q_proj', 'ff_out'].map((name) => `model.transformer.blocks.${i}.${name}`)),
    );
    expect(saved(['q_proj', 'v_proj'])).toEqual(['q_proj', 'v_proj']);
  });

  it('says which model it lacks', () => {
    const moved = copyWith({ base_model_name_or_path: '/nowhere/base' });
    expect(() => loadModel(moved)).toThrow(
      `${moved} is an adapter for /nowhere/base: no model folder at /nowhere/base`,
    );
    const unnamed = copyWith({ base_model_name_or_path: null });
    expect(() => loadModel(unnamed)).toThrow('base_model_name_or_path names no model');
    const hub = copyWith({ base_model_name_or_path: 'org/none', revision: 'abc' });
    expect(() => loadModel(hub)).toThrow(/is an adapter for org\/none@abc: no model org\/none@abc/);
    const nested = copyWith({ base_model_name_or_path: copyWith({}) });
    expect(() => loadModel(nested)).toThrow('that is an adapter too');
  });
});

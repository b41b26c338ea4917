import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type DType, noGrad, tidy } from '@grpo/torch';
import { describe, expect, it, onTestFinished } from 'vitest';
import { resolveConfig } from '../../config/index.js';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { type LoadedModel, loadModel, saveModel } from '../../models/index.js';
import type { Comparison } from '../../trace/index.js';
import type { AuditContext } from '../context.js';
import { auditModelFolder, type ModelSource } from './audit-model-folder.js';

const fixture = (path: string) =>
  fileURLToPath(new URL(`../../../../../parity/fixtures/${path}`, import.meta.url));
const TEXT = 'What is the other number, and in which of them did the people see two more?';

/** The comparisons of a loaded model with its folder, for a run of these settings. */
async function compared(
  model: LoadedModel,
  source: ModelSource,
  settings: readonly string[] = [],
): Promise<Comparison[]> {
  const { config } = resolveConfig({
    command: 'train',
    settings: ['task.name=arithmetic', 'model=m', ...settings],
  });
  const context = {
    trainer: { model, config },
    batch: { prompts: [{ text: TEXT }] },
    step: 0,
    chosen: [],
    tell() {},
  };
  const measured = await auditModelFolder(source, 'model')(context as unknown as AuditContext);
  return (measured as { comparisons: Comparison[] }).comparisons;
}

const apart = (comparisons: readonly Comparison[]) =>
  comparisons.filter(({ deviation, bound }) => !(deviation <= bound)).map(({ quantity }) => quantity);

function loaded(
  dir: string,
  options: { dtype?: DType; lora?: NonNullable<Parameters<typeof loadModel>[1]>['lora'] } = {},
): LoadedModel {
  const model = loadModel(dir, { dtype: 'float32', ...options });
  onTestFinished(() => model.decoder.dispose());
  return model;
}

function copyOf(name: string): string {
  const dir = tempFolder();
  cpSync(fixture(`models/${name}`), dir, { recursive: true });
  return dir;
}

const changed = (dir: string, file: string, keys: object) => {
  const path = join(dir, file);
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), ...keys }));
};

describe('a model as its folder has it', () => {
  it.each([
    ...[
      'gpt2',
      'llama3',
      'llama3-sharded',

      'mistral',
      'gemma3',
      'phi3',
      'qwen2-untied',
    ],
    ...['qwen3-bf16', 'smollm3', 'olmo2', 'granite', 'llada', 'dream'],
  ])('%s holds, in both number types', async (name) => {
    const dir = fixture(`models/${name}`);
    for (const dtype of ['float32', 'bfloat16'] as const) {
      const comparisons = await compared(loaded(dir, { dtype }), { dir }, [`dtype=${dtype}`]);
      expect(apart(comparisons)).toEqual([]);
      const elements = comparisons.find(({ quantity }) => quantity === 'element of a tensor')!;
      expect(elements.compared).toBeGreaterThan(500);
    }
  });

  it('has its words encoded again', async () => {
    const dir = fixture('models/qwen3');
    const own = (await compared(loaded(dir), { dir })).find(
      ({ quantity }) => quantity === 'list of ids of a word',
    );
    expect(own!.compared).toBe(13);
  });

  it('tells weights that were rounded, of another type, or of another tensor', async () => {
    const dir = fixture('models/qwen3');
    const rounded = loaded(dir, { dtype: 'bfloat16' });
    expect(apart(await compared(rounded, { dir }))).toEqual([
      'element of a tensor',
      'number type of a tensor',
    ]);
    const model = loaded(dir);
    const { parameters } = model.decoder;
    const [q, k] = ['up_proj', 'gate_proj'].map(
      (name) => parameters.get(`model.layers.0.mlp.${name}.weight`)!,
    );
    noGrad(() => tidy(() => q!.copy_(k!)));
    const [found] = (await compared(model, { dir })).filter(({ deviation }) => deviation > 0);
    expect(found).toMatchObject({ tensor: 'model.layers.0.mlp.up_proj.weight' });
  });

  it('tells a Conv1D that was not turned', async () => {
    const dir = fixture('models/gpt2');
    const model = loaded(dir);
    const weight = model.decoder.parameters.get('transformer.h.0.attn.c_proj.weight')!;
    noGrad(() => tidy(() => weight.copy_(weight.t().contiguous())));
    expect(apart(await compared(model, { dir }))).toEqual(['element of a tensor']);
  });

  it.each([
    ['list of ids that end a completion', 'generation_config.json', { eos_token_id: 3 }],
    ['config.json', 'config.json', { rms_norm_eps: 0.01 }],
  ])('tells other %s', async (quantity, file, keys) => {
    const dir = copyOf('qwen3');
    const model = loaded(dir);
    changed(dir, file, keys);
    expect(apart(await compared(model, { dir }))).toEqual([quantity]);
  });

  it('tells another template', async () => {
    const dir = copyOf('qwen3');
    const model = loaded(dir);
    rmSync(join(dir, 'chat_template.jinja'), { force: true });
    changed(dir, 'tokenizer_config.json', { chat_template: '{{ messages }}' });
    expect(apart(await compared(model, { dir }))).toEqual(['chat template']);
  });

  it('tells a BOS that is left out, and merges that are left out', async () => {
    const dir = copyOf('llama3');
    const model = loaded(dir);
    const { model: bpe, ...others } = JSON.parse(readFileSync(join(dir, 'tokenizer.json'), 'utf8'));
    const post_processor = { ...others.post_processor };
    changed(dir, 'tokenizer.json', { model: { ...bpe, merges: bpe.merges.slice(0, 1) } });
    expect(apart(await compared(model, { dir }))).toEqual(['list of ids of a word']);
    const single = [{ SpecialToken: { id: 'X', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }];
    const special_tokens = { X: { id: 'X', ids: [7], tokens: ['X'] } };
    const wholly = { ...post_processor, type: 'TemplateProcessing', single, special_tokens };
    changed(dir, 'tokenizer.json', { model: bpe, post_processor: wholly });
    expect(apart(await compared(model, { dir }))).toEqual(['list of ids in front of a text']);
  });
});

describe('adapters', () => {
  it.each(['gpt2', 'llama3', 'gemma3', 'phi3'])("of PEFT's on %s hold", async (name) => {
    const [dir, adapter] = [fixture(`models/${name}`), fixture(`lora/${name}`)];
    const comparisons = await compared(loaded(dir, { lora: { adapter } }), { dir, adapter });
    expect(apart(comparisons)).toEqual([]);
    expect(comparisons.map(({ quantity }) => quantity)).toEqual(
      expect.arrayContaining([
        'factor of the adapters',
        'list of matrices of the adapters',
        'element of an adapter',
      ]),
    );
  });

  it('tell another factor, and an element of a matrix', async () => {
    const [dir, base] = [tempFolder(), fixture('models/llama3')];
    const model = loaded(base, { lora: { rank: 2, alpha: 4, seed: 1 } });
    saveModel(model, dir);
    changed(dir, 'adapter_config.json', { lora_alpha: 8 });
    const [, b] = [...model.decoder.lora!.parameters.values()];
    noGrad(() => tidy(() => b!.add_(1)));
    const source = { dir: base, adapter: dir };
    expect(apart(await compared(model, source))).toEqual(['factor of the adapters', 'element of an adapter']);
  });

  it('that are fresh are on all projections, or on those that are named, and change nothing', async () => {
    const dir = fixture('models/gpt2');
    const lora = { rank: 2, alpha: 4, seed: 1 };
    const some = loaded(dir, { lora: { ...lora, targets: ['c_attn'] } });
    const rank = 'lora.rank=2';
    expect(apart(await compared(some, { dir }, [rank]))).toEqual(['list of matrices of the adapters']);
    expect(apart(await compared(some, { dir }, [rank, 'lora.targets=[c_attn]']))).toEqual([]);
    const all = loaded(dir, { lora });
    expect(apart(await compared(all, { dir }, [rank]))).toEqual([]);
    expect(apart(await compared(all, { dir }, [rank, 'lora.alpha=2']))).toEqual(['factor of the adapters']);
    const [, b] = [...all.decoder.lora!.parameters.values()];
    noGrad(() => tidy(() => b!.add_(1)));
    expect(apart(await compared(all, { dir }, [rank]))).toEqual(['sum of the sizes of a fresh lora_B']);
  });
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type DType, fromBytes, keep, type Tensor } from '@grpo/torch';
import { SafetensorsFile } from '../../formats/safetensors.js';
import type { PlainModel } from './plain-model.js';

const folder = (path: string) =>
  fileURLToPath(new URL(`../../../../../parity/fixtures/${path}`, import.meta.url));

const DTYPES: Record<string, DType> = { F32: 'float32', BF16: 'bfloat16', I64: 'int64' };

/** The tensors of a file of `parity/fixtures`, read without `models/`. */
function tensorsOf(path: string): Map<string, Tensor> {
  using file = SafetensorsFile.open(path);
  return new Map(
    [...file.tensors].map(([name, { dtype, shape }]) => [
      name,
      keep(fromBytes(file.read(name), shape, DTYPES[dtype]!)),
    ]),
  );
}

/** What transformers or PEFT computed, by name. */
export const expectedOf = (path: string): Map<string, Tensor> =>
  tensorsOf(join(folder(path), 'expected.safetensors'));

const json = (path: string) => JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;

/** `config.json` of a model of `parity/fixtures/models`. */
export const configOf = (name: string) => json(join(folder(`models/${name}`), 'config.json'));

/** Causal models of `parity/fixtures/models`. */
export const causal = [
  ...['gpt2', 'llama3', 'llama3-tied', 'qwen2', 'qwen2-untied', 'qwen3', 'mistral', 'gemma2', 'gemma3'],
  ...['gemma3-scaled', 'smollm3', 'phi3', 'olmo2', 'granite'],
];

/** The sequences that transformers was given. */
export const promptsOf = (path: string): number[][] =>
  json(join(folder(path), 'expected.json')).prompts as number[][];

/** The partly hidden sequences of a masked-diffusion model, each as a completion of its first token: one pass scores the hidden ones. */
export function hiddenOf(name: string) {
  const { prompts, targets } = json(join(folder(`models/${name}`), 'expected.json')) as Record<
    string,
    number[][]
  >;
  return targets!.flatMap((ids, i) => {
    const hidden = prompts![i]!.slice(1).map((id) => Number(id === MASK));
    const region = ids.slice(1);
    const plan = [{ prompt: [0], region: hidden, weight: 1 }];
    return region.length > 0
      ? [{ prompt: ids.slice(0, 1), completion: region, masked: { region, plan } }]
      : [];
  });
}

/** The mask token of every model there. */
const MASK = 263;

/** A model of `parity/fixtures/models`, with an adapter of `parity/fixtures/lora`. */
export function fixtureModel(name: string, adapter?: string): PlainModel {
  const config = configOf(name);
  const weights = new Map(
    [...tensorsOf(join(folder(`models/${name}`), 'model.safetensors'))].map(([key, value]) => [
      key,
      // GPT-2 keeps its projections as [in, out].
      config.model_type === 'gpt2' && /c_\w+\.weight$/.test(key) ? keep(value.t().contiguous()) : value,
    ]),
  );
  if (adapter === undefined) return { config, weights, maskId: MASK };
  const { lora_alpha, r } = json(join(folder(`lora/${adapter}`), 'adapter_config.json'));
  const stored = tensorsOf(join(folder(`lora/${adapter}`), 'adapter_model.safetensors'));
  const matrices = new Map([...stored].map(([key, value]) => [key.replace('base_model.model.', ''), value]));
  return { config, weights, adapters: { matrices, scale: Number(lora_alpha) / Number(r) } };
}

import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DType, Tensor } from '@grpo/torch';
import { expect, it } from 'vitest';
import { exportGguf } from '../../export/index.js';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { loadModel, mergeLora, openModelFolder, saveModel } from '../../models/index.js';
import { rewriteTensors } from '../../models/rewrite-tensors.test.helper.js';
import type { Comparison } from '../../trace/index.js';
import { auditMerge, compareSum } from './audit-merge.js';
import { PlainMerge } from './plain-merge.js';

const fixtures = fileURLToPath(new URL('../../../../../parity/fixtures/', import.meta.url));
/** Of PEFT. */
const adapterOf = (name: string) => join(fixtures, 'lora', name);

/** Merges one of PEFT's adapters. */
function merge(name: string, dtype: DType) {
  const base = join(fixtures, 'models', name);
  const merged = tempFolder();
  const model = loadModel(base, { dtype, lora: { adapter: adapterOf(name) } });
  saveModel({ ...model, decoder: mergeLora(model.decoder) }, merged);
  model.decoder.dispose();
  return { base, adapter: adapterOf(name), merged };
}

/** A copy of an adapter with other settings. */
function changed(adapter: string, change: (config: { [key: string]: number }) => object): string {
  const other = tempFolder();
  cpSync(adapter, other, { recursive: true });
  const path = join(other, 'adapter_config.json');
  const config = JSON.parse(readFileSync(path, 'utf8'));
  writeFileSync(path, JSON.stringify({ ...config, ...change(config) }));
  return other;
}

const rescaled = (adapter: string) =>
  changed(adapter, ({ lora_alpha: alpha, r }) => ({ lora_alpha: alpha! * Math.sqrt(r!) }));

const holds = (...args: Parameters<typeof auditMerge>) => {
  const { deviation, bound } = auditMerge(...args);
  return deviation <= bound;
};

it.each<[string, DType]>([
  ['llama3', 'float32'],
  ['llama3', 'bfloat16'],
  ['llama3', 'float16'],
  ['gemma3', 'bfloat16'],
  ['phi3', 'float32'],
  ['gpt2', 'float32'],
  ['gpt2', 'bfloat16'],
])('a merge of %s in %s holds, and one by another factor or of another base does not', (name, dtype) => {
  const sum = merge(name, dtype);
  expect(auditMerge(sum).compared).toBeGreaterThan(200);
  expect(holds(sum)).toBe(true);

  const other = rescaled(sum.adapter);
  expect(holds({ ...sum, adapter: other })).toBe(false);
  expect(holds({ ...sum, base: sum.merged })).toBe(false);
  // How the base keeps its weights, the base says.
  const turned = changed(sum.adapter, ({ fan_in_fan_out: told }) => ({ fan_in_fan_out: !told }));
  expect(holds({ ...sum, adapter: turned })).toBe(true);
});

/** Exports a model with an adapter. Returns how many weights were summed, and whether each is the sum with another adapter. */
function exported(name: string, held: string) {
  const base = join(fixtures, 'models', name);
  const opened = openModelFolder(base, { lora: { adapter: adapterOf(name) } });
  using plain = new PlainMerge({ base, adapter: held });
  const sums: Comparison[] = [];
  const summed = (tensor: string, sum: Tensor) => void sums.push(compareSum(plain, tensor, sum));
  exportGguf(opened, join(tempFolder(), 'model.gguf'), { summed });
  opened.lora!.dispose();
  return { sums: sums.length, hold: sums.every(({ deviation, bound }) => deviation <= bound) };
}

it.each(['llama3', 'gpt2'])(
  'an export of %s with an adapter holds, and one by another factor does not',
  (name) => {
    const right = exported(name, adapterOf(name));
    expect(right.sums).toBeGreaterThan(4);
    expect(right.hold).toBe(true);
    expect(exported(name, rescaled(adapterOf(name)))).toEqual({ ...right, hold: false });
  },
);

it('a tensor that was written otherwise does not hold, and is named', () => {
  const sum = merge('llama3', 'float32');
  const planted = 'model.layers.0.mlp.up_proj.weight';
  rewriteTensors(join(sum.merged, 'model.safetensors'), (entry) => {
    if (entry.name !== planted) return entry;
    return { ...entry, data: () => (entry.data() as Uint8Array).slice().fill(0) };
  });
  expect(holds(sum)).toBe(false);
  expect(auditMerge(sum).tensor).toBe(planted);
});

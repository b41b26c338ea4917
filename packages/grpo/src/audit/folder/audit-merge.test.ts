import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { DType } from '@grpo/torch';
import { expect, it } from 'vitest';
import { tempFolder } from '../../formats/temp-folder.test.helper.js';
import { loadModel, mergeLora, saveModel } from '../../models/index.js';
import { rewriteTensors } from '../../models/rewrite-tensors.test.helper.js';
import { auditMerge } from './audit-merge.js';

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

  const other = tempFolder();
  cpSync(sum.adapter, other, { recursive: true });
  const path = join(other, 'adapter_config.json');
  const config = JSON.parse(readFileSync(path, 'utf8'));
  writeFileSync(path, JSON.stringify({ ...config, lora_alpha: config.lora_alpha * Math.sqrt(config.r) }));
  expect(holds({ ...sum, adapter: other })).toBe(false);
  expect(holds({ ...sum, base: sum.merged })).toBe(false);
  // How the base keeps its weights, the base says.
  const { fan_in_fan_out: turned } = config;
  writeFileSync(path, JSON.stringify({ ...config, fan_in_fan_out: !turned }));
  expect(holds({ ...sum, adapter: other })).toBe(true);
});

it('a tensor that was written otherwise does not hold, and is named', () => {
  const sum = merge('llama3', 'float32');
  const changed = 'model.layers.0.mlp.up_proj.weight';
  rewriteTensors(join(sum.merged, 'model.safetensors'), (entry) => {
    if (entry.name !== changed) return entry;
    return { ...entry, data: () => (entry.data() as Uint8Array).slice().fill(0) };
  });
  expect(holds(sum)).toBe(false);
  expect(auditMerge(sum).tensor).toBe(changed);
});

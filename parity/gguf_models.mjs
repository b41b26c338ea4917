/** What gguf.mjs and gguf_tokenizers.mjs share. */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { writeSafetensors } from '../packages/grpo/dist/formats/safetensors.js';
import { parameterSpecs, parseConfig } from '../packages/grpo/dist/models/index.js';
import { Generator, noGrad, tidy, zeros } from '../packages/torch/dist/index.js';

/** node-llama-cpp as it is installed in a folder, on the CPU. */
export async function openLlama(folder) {
  const file = join(resolve(folder), 'node_modules/node-llama-cpp/dist/index.js');
  const { getLlama, LlamaLogLevel } = await import(pathToFileURL(file).href);
  return getLlama({ gpu: false, build: 'never', logLevel: LlamaLogLevel.error });
}

/** Writes a model but for its tokenizer: random weights, norms and biases that no logit can do without. */
export function writeModel(dir, config, generation) {
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  const json = (name, content) => writeFileSync(join(dir, name), JSON.stringify(content, null, 2));
  json('config.json', config);
  json('generation_config.json', generation);
  const shape = parseConfig(config, join(dir, 'config.json'));
  const generator = new Generator(7);
  const normal = (size, mean, std) =>
    noGrad(() => tidy(() => zeros(size).normal_(mean, std, { generator }).toBytes()));
  const entries = [...parameterSpecs(shape)].map(([name, { shape: size, role, transposed }]) => {
    const input = transposed ? size[0] : size.at(-1);
    const [mean, std] = {
      norm: [1 - shape.normOffset, 0.3],
      bias: [0, 0.2],
      embedding: [0, 0.3],
      projection: [0, name.startsWith('lm_head') ? 0.3 : input ** -0.5],
    }[role];
    return { name, dtype: 'F32', shape: size, data: () => normal(size, mean, std) };
  });
  writeSafetensors(join(dir, 'model.safetensors'), entries);
}

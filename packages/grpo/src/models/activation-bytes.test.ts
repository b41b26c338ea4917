import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { activationBytes } from './activation-bytes.js';
import { parseConfig } from './parse/parse-config.js';

/** Enough that the system's pages of 2 MB, of which some are held already, do not tell. */
const TOKENS = 8192;

const rotary = {
  hidden_size: 256,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  num_hidden_layers: 4,
  rms_norm_eps: 1e-6,
};
const shapes = {
  qwen2: { ...rotary, model_type: 'qwen2', intermediate_size: 1024, tie_word_embeddings: true },
  qwen3: { ...rotary, model_type: 'qwen3', intermediate_size: 768, head_dim: 96, tie_word_embeddings: true },
  // Norms before and after, wide heads with norms; fused projections.
  gemma3: { ...rotary, model_type: 'gemma3_text', intermediate_size: 768, head_dim: 128, sliding_window: 64 },
  phi3: { ...rotary, model_type: 'phi3', intermediate_size: 768 },
  gpt2: { model_type: 'gpt2', n_embd: 256, n_head: 4, n_layer: 5, n_positions: 512 },
};

type Case = [
  name: keyof typeof shapes,
  dtype: 'float32' | 'bfloat16',
  how: 'weights' | 'adapters',
  recompute: boolean,
];

/** Bytes that a pass adds to the memory of a process that does nothing else. */
function measured(...[name, dtype, how, recompute]: Case): number {
  const at = (file: string) => JSON.stringify(new URL(file, import.meta.url).href);
  const code = `
    import { readFileSync, writeFileSync } from 'node:fs';
    import { tidy } from '@grpo/torch';
    import { parseConfig } from ${at('./parse/parse-config.js')};
    import { initDecoder } from ${at('./init.js')};
    import { initLora } from ${at('./lora/init-lora.js')};
    import { packSegments } from ${at('./pack-segments.js')};
    import { openPass } from ${at('./recompute.js')};
    const config = parseConfig(${JSON.stringify({ vocab_size: 300, max_position_embeddings: 512, ...shapes[name] })}, '');
    const base = initDecoder(config, { seed: 1, dtype: '${dtype}' });
    const lora = () => initLora(config, { rank: 4, alpha: 8, base: '' }, { seed: 1, device: 'cpu' });
    const decoder = ${how === 'adapters'} ? base.withLora(lora()) : base;
    for (const parameter of decoder.trainable.values()) parameter.requiresGrad = true;
    const peak = () => 1024 * Number(/VmHWM:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
    const pass = (tokens) => tidy(() => {
      const ids = Array.from({ length: 256 }, (_, i) => i);
      const segments = Array.from({ length: tokens / 256 }, () => ({ ids }));
      const open = openPass(decoder, ${recompute});
      const packed = packSegments(segments, config, 'cpu');
      open.backward(open.decoder.hidden(packed, packed.attend).sum());
      open[Symbol.dispose]();
    });
    pass(256);
    // From what is held now: garbage and earlier peaks do not count.
    globalThis.gc();
    writeFileSync('/proc/self/clear_refs', '5');
    const before = peak();
    pass(${TOKENS});
    console.log(peak() - before);`;
  const child = spawnSync(process.execPath, ['--expose-gc', '--input-type=module', '-e', code], {
    encoding: 'utf8',
    cwd: new URL('.', import.meta.url).pathname,
  });
  if (child.status !== 0) throw new Error(child.stderr);
  return Number(child.stdout);
}

// Where the system tells of a process's largest memory.
it.runIf(process.platform === 'linux').each<Case>([
  ['qwen2', 'bfloat16', 'weights', false],
  ['qwen2', 'bfloat16', 'weights', true],
  ['qwen2', 'bfloat16', 'adapters', false],
  ['qwen2', 'bfloat16', 'adapters', true],
  ['qwen3', 'float32', 'weights', false],
  ['qwen3', 'float32', 'weights', true],
  ['gemma3', 'bfloat16', 'weights', false],
  ['gemma3', 'bfloat16', 'weights', true],
  ['phi3', 'bfloat16', 'adapters', true],
  ['gpt2', 'float32', 'adapters', false],
  ['gpt2', 'float32', 'adapters', true],
])('a pass of %s in %s, of its %s, recomputed %s, takes what is foretold', (name, dtype, how, recompute) => {
  const config = parseConfig({ vocab_size: 300, max_position_embeddings: 512, ...shapes[name] }, '');
  const [d, inner, queries] = [config.hiddenSize, config.intermediateSize, config.heads * config.headDim];
  const fused = name === 'gpt2' || name === 'phi3';
  const inputs = fused ? 2 * d + queries + inner : 5 * d + queries + inner;
  const adapterInputs = how === 'adapters' ? config.layers * inputs : undefined;
  const size = dtype === 'float32' ? 4 : 2;
  const foretold = activationBytes(config, TOKENS, { size, adapterInputs, recompute });
  const found = measured(name, dtype, how, recompute);
  expect(Math.abs(found / foretold - 1), `${found} for ${foretold}`).toBeLessThan(0.2);
});

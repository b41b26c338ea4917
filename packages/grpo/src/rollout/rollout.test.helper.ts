import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { noGrad, type Tensor, tensor, tidy } from '@grpo/torch';
import { DEVICE } from '../device.test.helper.js';
import type { DiffusionShape } from '../models/config.js';
import {
  type DecoderConfig,
  equalLayers,
  type LoadedModel,
  loadModel,
  type Model,
  OwningDecoder,
  packSegments,
  parameterSpecs,
} from '../models/index.js';

export const earlierArchitectures = ['gpt2', 'llama3', 'llama3-tied', 'qwen2', 'qwen2-untied', 'qwen3'];
/** Whose attention or scales are others than Llama's. */
export const otherArchitectures = [
  ...['mistral', 'gemma2', 'gemma3', 'gemma3-scaled', 'smollm3', 'phi3', 'olmo2', 'granite'],
];
export const architectures = [...earlierArchitectures, ...otherArchitectures];

const folder = (name: string) =>
  fileURLToPath(new URL(`../../../../parity/fixtures/models/${name}`, import.meta.url));

/** A random tiny model that transformers made; it ends at `endIds`, never when left out. */
export function fixture(name: string, endIds: Iterable<number> = []): LoadedModel {
  return { ...loadModel(folder(name), { device: DEVICE }), endIds: new Set(endIds) };
}

/** Prompts of 1, 5, 17 and 40 tokens, with the 64 tokens that transformers decodes greedily after each. */
export const expectedOf = (name: string) =>
  JSON.parse(readFileSync(`${folder(name)}/expected.json`, 'utf8')) as {
    prompts: number[][];
    greedy: number[][];
  };

/** The token that stands at a hidden place; it is no text. */
export const MASK = 263;

/** The same weights as a masked-diffusion model, which takes them over. */
export function diffusing(like: LoadedModel, shape: Partial<DiffusionShape> = {}): LoadedModel {
  const diffusion = { maskId: MASK, shifted: false, ...shape };
  const { config, parameters } = like.decoder;
  return { ...like, decoder: new OwningDecoder({ ...config, diffusion }, parameters) };
}

export const range = (end: number) => Array.from({ length: end }, (_, i) => i);

/**
 * A GPT-2 that follows a script: the token after position p is `script[p]`, whatever stands before. Its context is
 * as long as the script.
 */
export function scripted(script: readonly number[], endIds: Iterable<number> = []): LoadedModel {
  const like = fixture('gpt2', endIds);
  const { vocabSize } = like.decoder.config;
  like.decoder.dispose();
  const config: DecoderConfig = {
    ...like.decoder.config,
    maxPositions: script.length,
    hiddenSize: vocabSize,
    intermediateSize: 4,
    layers: 1,
    heads: 1,
    kvHeads: 1,
    headDim: vocabSize,
    ...equalLayers({ layers: 1, headDim: vocabSize }),
    tied: false,
  };
  // All weights are zero save those that lead from a position to its token.
  const ones: Record<string, (row: number) => number> = {
    'transformer.wpe.weight': (position) => script[position]!,
    'transformer.ln_f.weight': () => 0,
    'lm_head.weight': (id) => id,
  };
  const parameters = new Map<string, Tensor>();
  for (const [name, { shape, transposed }] of parameterSpecs(config)) {
    const [rows, columns] = [shape[0]!, shape[1] ?? 1];
    const data = new Float32Array(rows * columns);
    const column = ones[name];
    if (column) for (const row of range(rows)) data[row * columns + column(row)] = 4;
    parameters.set(name, tensor(data, transposed ? [...shape].reverse() : shape));
  }
  return { ...like, decoder: new OwningDecoder(config, parameters) };
}

/** Logits after each token of `ids`, as training computes them: one packed sequence. */
export function packedLogits({ decoder }: Model, ids: readonly number[]): number[][] {
  return noGrad(() =>
    tidy(() => {
      const packed = packSegments([{ ids }], decoder.config, decoder.device);
      const logits = decoder.logits(decoder.hidden(packed, packed.attend)).toNumbers();
      const vocab = decoder.config.vocabSize;
      return range(ids.length).map((i) => logits.slice(i * vocab, (i + 1) * vocab));
    }),
  );
}

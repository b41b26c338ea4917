/** GRPO steps on random weights and random prompts: work without a download, the same for every trainer. */
import { type DecoderConfig, equalLayers, llamaTraits } from '../../models/index.js';

/** Work of a step that is measured; lengths in tokens. */
export interface Workload {
  model: BenchModel;
  promptLength: number;
  completionLength: number;
  group: number;
  prompts: number;
  steps: number;
  beta: number;
  bf16: boolean;
  /** Completions a micro-batch; 0 leaves it to `train.microBatchTokens`. */
  micro: number;
  threads: number;
  /** Completions of 4 … completionLength tokens; all of them have completionLength otherwise. */
  randomLengths: boolean;
  device: 'cpu' | 'cuda';
}

const qwen2 = (
  sizes: Pick<
    DecoderConfig,
    'vocabSize' | 'hiddenSize' | 'intermediateSize' | 'layers' | 'heads' | 'kvHeads'
  >,
): DecoderConfig => ({
  family: 'qwen2',
  ...llamaTraits,
  ...sizes,
  headDim: sizes.hiddenSize / sizes.heads,
  ...equalLayers({ ...sizes, headDim: sizes.hiddenSize / sizes.heads }, { theta: 1_000_000 }),
  maxPositions: 32_768,
  normEps: 1e-6,
  qkvBias: true,
  tied: true,
});

/** Shapes; `tiny` has 6.8 million parameters. */
export const benchModels = {
  tiny: qwen2({
    vocabSize: 4096,
    hiddenSize: 256,
    intermediateSize: 1024,
    layers: 6,
    heads: 8,
    kvHeads: 2,
  }),
  'gpt2-124m': {
    ...llamaTraits,
    family: 'gpt2',
    norm: 'layer',
    gated: false,
    vocabSize: 50_257,
    hiddenSize: 768,
    intermediateSize: 3072,
    layers: 12,
    heads: 12,
    kvHeads: 12,
    headDim: 64,
    ...equalLayers({ layers: 12, headDim: 64 }),
    maxPositions: 1024,
    normEps: 1e-5,
    activation: 'gelu_tanh',
    qkvBias: true,
    outputBias: true,
    mlpBias: true,
    tied: true,
  },
  'qwen2.5-0.5b': qwen2({
    vocabSize: 151_936,
    hiddenSize: 896,
    intermediateSize: 4864,
    layers: 24,
    heads: 14,
    kvHeads: 2,
  }),
  'qwen2.5-1.5b': qwen2({
    vocabSize: 151_936,
    hiddenSize: 1536,
    intermediateSize: 8960,
    layers: 28,
    heads: 12,
    kvHeads: 2,
  }),
} as const satisfies Record<string, DecoderConfig>;

export type BenchModel = keyof typeof benchModels;
export const BENCH_MODELS = Object.keys(benchModels) as [BenchModel, ...BenchModel[]];

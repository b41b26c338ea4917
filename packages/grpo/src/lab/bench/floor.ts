import { sum } from '../../maths/moments.js';
import type { DecoderConfig } from '../../models/index.js';
import type { ProductRate } from './machine.js';
import type { Workload } from './workload.js';

/** What a stage needs at least. */
export interface StageNeeds {
  /** Seconds of its products, at the best rate of each one's shape. */
  arithmetic: number;
  /** What must come from memory or go there: weights, gradients, the optimizer's state, cached keys and values. */
  bytes: number;
}

/** Seconds that a stage takes at least: arithmetic and memory traffic may overlap. */
export const floorOf = ({ arithmetic, bytes }: StageNeeds, bytesPerSecond: number): number =>
  Math.max(arithmetic, bytes / bytesPerSecond);

/** Rows of a product in training: a micro-batch has about so many. */
const TRAINING_ROWS = 512;

/**
 * What each stage of a step needs. Activations and recomputation are left out.
 *
 * @param lengths - tokens of each completion, a prompt's side by side
 */
export function stageNeeds(
  config: DecoderConfig,
  work: Workload,
  lengths: readonly number[],
  flopsPerSecond: ProductRate,
): Record<'prefill' | 'decode' | 'logprob' | 'reference' | 'backward' | 'optimizer', StageNeeds> {
  const { hiddenSize, intermediateSize, layers, heads, kvHeads, headDim, vocabSize, gated } = config;
  const width = work.bf16 ? 2 : 4;
  const products: readonly (readonly [inputs: number, outputs: number])[] = [
    [hiddenSize, (heads + 2 * kvHeads) * headDim],
    [heads * headDim, hiddenSize],
    [hiddenSize, intermediateSize * (gated ? 2 : 1)],
    [intermediateSize, hiddenSize],
  ];
  const layerWeights = layers * products.reduce((sum, [inputs, outputs]) => sum + inputs * outputs, 0);
  const weights = layerWeights + hiddenSize * vocabSize;
  const seconds = (rows: number, at: number, inputs: number, outputs: number) =>
    (2 * rows * inputs * outputs) / flopsPerSecond(Math.min(rows, at), inputs, outputs);
  const body = (rows: number, at = rows) =>
    layers * products.reduce((sum, [inputs, outputs]) => sum + seconds(rows, at, inputs, outputs), 0);
  const head = (rows: number, at = rows) => seconds(rows, at, hiddenSize, vocabSize);
  // Queries with keys and weights with values: of one token over `seen` others.
  const looking = (seen: number) => (4 * layers * heads * headDim * seen) / flopsPerSecond(1024, 1024, 1024);
  const cached = (tokens: number) => 2 * layers * kvHeads * headDim * tokens * width;

  const { prompts, promptLength, group } = work;
  const promptTokens = prompts * promptLength;
  const tokens = sum(lengths);
  const promptLooks = looking((prompts * promptLength * (promptLength + 1)) / 2);

  let [arithmetic, bytes] = [0, 0];
  // The first token comes from the prompt.
  for (let step = 1; step < Math.max(...lengths); step++) {
    const active = lengths.flatMap((length, i) => (length > step ? [i] : []));
    const groups = new Set(active.map((i) => Math.floor(i / group))).size;
    arithmetic += body(rowsLike(active.length)) + head(rowsLike(active.length));
    arithmetic += looking(active.length * (promptLength + step));
    bytes += weights * width + cached(groups * promptLength + active.length * step);
  }

  const forward =
    body(promptTokens + tokens, TRAINING_ROWS) +
    head(tokens, TRAINING_ROWS) +
    promptLooks +
    looking(sum(lengths.map((length) => length * promptLength + (length * (length + 1)) / 2)));
  const scoring = { arithmetic: forward, bytes: weights * width };
  const parameters = weights + (config.tied ? 0 : hiddenSize * vocabSize);
  return {
    prefill: {
      arithmetic: body(promptTokens, TRAINING_ROWS) + head(prompts) + promptLooks,
      bytes: weights * width,
    },
    decode: { arithmetic, bytes },
    logprob: scoring,
    reference: work.beta > 0 ? scoring : { arithmetic: 0, bytes: 0 },
    // Weights are read, and gradients, kept in float32, are written.
    backward: { arithmetic: 2 * forward, bytes: weights * width + parameters * 4 },
    // Gradient and two moments are read, the moments written; float32 weights, and their bfloat16 copies, as well.
    optimizer: { arithmetic: 0, bytes: parameters * (5 * 4 + 2 * 4 + (work.bf16 ? 2 : 0)) },
  };
}

/** Multiples of a quarter of a power of two, so that few rates are measured. */
function rowsLike(rows: number): number {
  const unit = Math.max(1, 2 ** Math.floor(Math.log2(rows)) / 4);
  return Math.floor(rows / unit) * unit;
}

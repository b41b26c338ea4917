import { sum } from '../../maths/moments.js';
import type { DecoderConfig } from '../../models/index.js';
import type { Workload } from './workload.js';

/** Floating-point operations of each stage of a step, when nothing is computed twice. */
export interface StageFlops {
  prefill: number;
  decode: number;
  logprob: number;
  reference: number;
  backward: number;
}

/**
 * A product of n × m by m × k counts as 2nmk; norms, rotations and softmax are left out. Each prompt is computed once a
 * group, in the rollout and again in training; logits only where a token is drawn or scored.
 *
 * @param lengths - tokens of each completion
 */
export function stageFlops(config: DecoderConfig, work: Workload, lengths: readonly number[]): StageFlops {
  const { hiddenSize, intermediateSize, layers, heads, kvHeads, headDim, vocabSize } = config;
  const attention = hiddenSize * headDim * (2 * heads + 2 * kvHeads);
  const feedForward = hiddenSize * intermediateSize * (config.gated ? 3 : 2);
  const perToken = 2 * layers * (attention + feedForward);
  const logits = 2 * hiddenSize * vocabSize;
  // Queries and keys, and the weights times the values, of one query over `seen` tokens.
  const looks = (seen: number) => 4 * layers * heads * headDim * seen;
  const promptTokens = work.prompts * work.promptLength;
  const tokens = sum(lengths);
  const promptLooks = work.prompts * looks((work.promptLength * (work.promptLength + 1)) / 2);
  const completionLooks = lengths.reduce(
    (sum, length) => sum + looks(length * work.promptLength + (length * (length + 1)) / 2),
    0,
  );
  const forward = (promptTokens + tokens) * perToken + promptLooks + completionLooks + tokens * logits;
  return {
    prefill: promptTokens * perToken + promptLooks + work.prompts * logits,
    decode: tokens * (perToken + logits) + completionLooks,
    logprob: forward,
    reference: work.beta > 0 ? forward : 0,
    backward: 2 * forward,
  };
}

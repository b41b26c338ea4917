/**
 * CS336's assignment 5 on the product: its functions under their names in camelCase, each with one object of options.
 * Tensors are padded, `[B, S]`, at this border only; docs/cs336.md has the table.
 *
 * @module
 */
export { type MmluExample, parseGsm8kResponse, parseMmluResponse } from './answers.js';
export { computePerInstanceDpoLoss, type DpoLossOptions } from './dpo.js';
export {
  computeEntropy,
  getResponseLogProbs,
  type ResponseLogProbs,
  type ResponseLogProbsOptions,
} from './log-probs.js';
export {
  type MaskedMeanOptions,
  type MaskedNormalizeOptions,
  maskedMean,
  maskedNormalize,
} from './masked.js';
export {
  type GrpoMicrobatchOptions,
  grpoMicrobatchTrainStep,
  type SftMicrobatchOptions,
  sftMicrobatchTrainStep,
} from './micro-batch.js';
export {
  getPackedSftDataset,
  type IterateBatchesOptions,
  iterateBatches,
  type PackedSftDataset,
  type PackedSftDatasetOptions,
  type SftExample,
} from './packed-sft.js';
export {
  computeGrpoClipLoss,
  computeNaivePolicyGradientLoss,
  computePolicyGradientLoss,
  type GrpoClipLossOptions,
  type LossMetadata,
  type LossType,
  type LossWithMetadata,
  type NaivePolicyGradientLossOptions,
  type PolicyGradientLossOptions,
} from './policy-loss.js';
export {
  type CS336RewardFn,
  computeGroupNormalizedRewards,
  type GroupNormalizedRewards,
  type GroupNormalizedRewardsOptions,
} from './rewards.js';
export {
  type TokenizedPrompts,
  type TokenizePromptAndOutputOptions,
  tokenizePromptAndOutput,
} from './tokenize.js';

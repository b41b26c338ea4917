export { type Advantages, advantagesOf, isFlatGroup } from './advantage.js';
export type { UpdateSize } from './aggregation.js';
export { type BetaSettings, type BetaState, nextBeta, warmedUp } from './beta.js';
export { type EntropyControl, type EntropyState, entropyWeight, nextEntropy } from './entropy-control.js';
export { klOf } from './kl.js';
export { type ScoredGroup, type ScoringOptions, scoreTokens } from './logprob.js';
export { composedLoss } from './loss.js';
export type { Loss, LossInput, LossMetrics, LossOutput, LossPart, LossTerms } from './loss-types.js';
export { isEstimated, MASK_STREAM, type PlannedGroup, passesOf, planMasks } from './masked/estimators.js';
export {
  hiddenRegion,
  type MaskedCompletion,
  type MaskedView,
  type MaskPlan,
} from './masked/mask-plan.js';
export { inputOf } from './masked/masked-logprob.js';
export type { Share } from './metrics/clip-shares.js';
export type { RewardColumns } from './reward-columns.js';
export type { AdvantageSettings, LossSettings } from './settings.js';
export { statistics } from './statistics.js';
export { TokenRows } from './token-rows.js';
export { scoreHidden, type TokenScores } from './vocabulary.js';

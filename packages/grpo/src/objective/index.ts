export { type Advantages, advantagesOf, isFlatGroup } from './advantage.js';
export type { UpdateSize } from './aggregation.js';
export { type BetaSettings, type BetaState, nextBeta, warmedUp } from './beta.js';
export type { Share } from './clip-shares.js';
export { type EntropyControl, type EntropyState, entropyWeight, nextEntropy } from './entropy-control.js';
export { klOf } from './kl.js';
export { type ScoredGroup, type ScoringOptions, scoreTokens } from './logprob.js';
export { composedLoss } from './loss.js';
export type { Loss, LossInput, LossMetrics, LossOutput, LossPart, LossTerms } from './loss-types.js';
export type { RewardColumns } from './reward-columns.js';
export { Rows } from './rows.js';
export type {
  AdvantageSettings,
  Aggregation,
  Compat,
  CorrectionSettings,
  KlSettings,
  LossSettings,
  PolicyTerm,
  RatioLevel,
} from './settings.js';
export { statistics } from './statistics.js';
export type { TokenScores } from './vocabulary.js';

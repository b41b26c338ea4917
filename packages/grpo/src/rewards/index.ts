/** Rewards: what a user's reward module may import, and what the product scores with. No tensor engine in here. */
export { type CompletionFailure, each, PartialFailure } from './each.js';
export { describeFailures, RewardError, type RewardFailure } from './failure.js';
export { type LoadedReward, loadReward } from './load.js';
export { goldAnswer, gradeNumeric, type NumericGrade, parseDecimal } from './numeric.js';
export { type OverlongSettings, overlongPunishment, withOverlong } from './overlong.js';
export type { CompletionScore, Reward, RewardBatch, RewardFunction, RewardValue, Verdict } from './reward.js';
export { type RewardFacts, type RewardTable, type ScoreOptions, scoreCompletions, totals } from './score.js';
export { parseThinkAnswer, type ThinkAnswer } from './think-answer.js';

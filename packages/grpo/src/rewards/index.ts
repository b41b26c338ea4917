/** Rewards: graders, judges and the running of user code. No tensor engine in here. */
export { accuracy } from './builtin/accuracy.js';
export { type CosineLengthSettings, cosineLength, cosineScaled } from './builtin/cosine-length.js';
export { type OverlongSettings, overlong, overlongPunishment, withOverlong } from './builtin/overlong.js';
export { type RepetitionSettings, repetition } from './builtin/repetition.js';
export { thinkFormat } from './builtin/think-format.js';
export { type Composition, composeReward } from './compose-reward.js';
export { type CompletionFailure, each, PartialFailure } from './each.js';
export { describeFailures, RewardError, type RewardFailure } from './failure.js';
export { groundsOf, partColumns } from './grounds.js';
export { type Judge, type JudgeOptions, judge } from './judge/judge.js';
export { isJudge, takeJudgeReports } from './judge/judge-report.js';
export type { JudgeCounts } from './judge/judge-statistics.js';
export { type LoadedReward, loadReward, type RewardSurroundings } from './load-reward.js';
export type { AssignmentRule } from './math/assignment-equal.js';
export { lastBoxed } from './math/boxed.js';
export {
  type Gold,
  type GraderOptions,
  type GraderVerdict,
  questionOnlyReward,
  r1ZeroReward,
} from './math/graders.js';
export { type MathGrade, type MathRule, mathEqual } from './math/math-equal.js';
export { goldAnswer, gradeNumeric, type NumericGrade, parseDecimal } from './numeric.js';
export type {
  CompletionScore,
  JudgeVerdict,
  Reward,
  RewardBatch,
  RewardFunction,
  RewardValue,
  Verdict,
} from './reward.js';
export {
  type Grounds,
  joinTables,
  moveFailure,
  type RewardFacts,
  type RewardTable,
  totals,
} from './reward-table.js';
export { type ScoreOptions, scoreCompletions } from './score.js';
export { parseThinkAnswer, type ThinkAnswer } from './think-answer.js';
export { questionHash, type TierPenalty, type Tiers } from './tier.js';
export { UserCodeGuard } from './user-code/user-code.js';

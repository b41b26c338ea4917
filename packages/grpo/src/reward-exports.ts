/** What `grpo/rewards` exports, for a user's reward module. No tensor engine in here. */
export * from './rewards/index.js';
export { type FairnessQuestion, fairnessReward } from './tasks/fairness/reward.js';
export { type HallucinationQuestion, hallucinationReward } from './tasks/hallucination/reward.js';

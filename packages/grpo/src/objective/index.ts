export { type Advantages, groupAdvantages, type RewardScale, statistics } from './advantage.js';
export { k3 } from './kl.js';
export { type ScoredGroup, scoreTokens, type TokenScores } from './logprob.js';
export {
  type Loss,
  type LossInput,
  type LossMetrics,
  type LossName,
  type LossOutput,
  losses,
} from './loss.js';

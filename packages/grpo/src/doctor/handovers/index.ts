/** Every hand-over that the audit compares. */
export { h01 } from './h01-prompt.js';
export { h02 } from './h02-completion.js';
export { h03 } from './h03-reward.js';
export { h04 } from './h04-advantage.js';
export { h05 } from './h05-old-log-probs.js';
export { h06 } from './h06-gradient.js';
export { h07 } from './h07-update.js';
export { h08 } from './h08-weights.js';
export { h09 } from './h09-checkpoint.js';
export { h10 } from './h10-run.js';
export { h11 } from './h11-text.js';
export { h12 } from './h12-loss.js';
export { h13 } from './h13-kl.js';
export { h14 } from './h14-evaluation.js';
export { h15 } from './h15-model.js';
export { h16 } from './h16-metrics.js';
export { h17 } from './h17-choice.js';

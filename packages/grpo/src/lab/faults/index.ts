/** Every fault that a run of ours can hold, in the order of the catalogue. */
import { advantageFaults } from './advantage.js';
import type { Fault } from './fault.js';
import { generationFaults } from './generation.js';
import { klFaults } from './kl.js';
import { logprobFaults } from './logprob.js';
import { lossFaults } from './loss.js';
import { optimizerFaults } from './optimizer.js';
import { rewardFaults } from './reward.js';
import { templateFaults } from './template.js';
import { tokenFaults } from './tokens.js';

export const faults: readonly Fault[] = [
  ...templateFaults,
  ...tokenFaults,
  ...generationFaults,
  ...rewardFaults,
  ...advantageFaults,
  ...logprobFaults,
  ...lossFaults,
  ...klFaults,
  ...optimizerFaults,
].sort((a, b) => a.code.localeCompare(b.code));

export type { Fault, Variant } from './fault.js';

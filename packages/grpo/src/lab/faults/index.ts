/** Every fault that a run of ours can hold, in the order of the catalogue. */
import { advantageFaults } from './advantage-faults.js';
import { courseFaults } from './course-faults.js';
import { generationFaults } from './generation-faults.js';
import { klFaults } from './kl-faults.js';
import { logprobFaults } from './logprob-faults.js';
import { lossFaults } from './loss-faults.js';
import { maskedFaults } from './masked-faults.js';
import { optimizerFaults } from './optimizer-faults.js';
import type { PlantedFault } from './planted-fault.js';
import { rewardFaults } from './reward-faults.js';
import { serverFaults } from './server-faults.js';
import { templateFaults } from './template-faults.js';
import { tokenFaults } from './token-faults.js';

export const faults: readonly PlantedFault[] = [
  ...templateFaults,
  ...tokenFaults,
  ...generationFaults,
  ...rewardFaults,
  ...advantageFaults,
  ...logprobFaults,
  ...lossFaults,
  ...klFaults,
  ...optimizerFaults,
  ...courseFaults,
  ...maskedFaults,
  ...serverFaults,
].sort((a, b) => a.code.localeCompare(b.code));

export type { PlantedFault, Variant } from './planted-fault.js';

import type { Check } from './check.js';
import { advantageChecks } from './checks/advantage.js';
import { generationChecks } from './checks/generation.js';
import { klChecks } from './checks/kl.js';
import { policyLogChecks } from './checks/log-policy.js';
import { runLogChecks } from './checks/log-run.js';
import { signalLogChecks } from './checks/log-signal.js';
import { logprobChecks } from './checks/logprob.js';
import { lossChecks } from './checks/loss.js';
import { maskChecks } from './checks/masks.js';
import { optimizerChecks } from './checks/optimizer.js';
import { rewardChecks } from './checks/reward.js';
import { templateChecks } from './checks/template.js';
import { tokenChecks } from './checks/tokens.js';

/** Every check, in the order of diagnosis. */
export const registry: readonly Check[] = [
  ...templateChecks,
  ...tokenChecks,
  ...maskChecks,
  ...generationChecks,
  ...logprobChecks,
  ...rewardChecks,
  ...advantageChecks,
  ...lossChecks,
  ...klChecks,
  ...optimizerChecks,
  ...signalLogChecks,
  ...policyLogChecks,
  ...runLogChecks,
].sort((a, b) => a.level - b.level);
